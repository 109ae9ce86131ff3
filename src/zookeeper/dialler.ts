import { inNoContext } from '../support/no-context.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import { headStartMs } from './attempt-time.js';
import { describeHosts, type Host } from './connect-string.js';
import { Handshake, type HandshakeListener, type HandshakeOptions } from './handshake.js';
import { HostHistory } from './host-history.js';
import type { Network, TlsSource } from './network.js';
import { Routes } from './routes.js';
import type { SaslSource } from './sasl-handshake.js';
import { ServerLink } from './server-link.js';
import { ServerMemory } from './server-memory.js';

/** Chooses the server and the addresses of each attempt to connect, and the pause before a round over all servers. */
export class Dialler {
  readonly #options: DiallerOptions;
  readonly #names: readonly string[];
  readonly #routes: Routes;
  /** The lookup of a server to which the session may move. It must not disturb the lookups of the next attempt. */
  readonly #routesElsewhere: Routes;
  readonly #memory: ServerMemory;
  #nextHost = 0;
  /** The number of hosts, one after another, whose lookup was pending. */
  #pendingHosts = 0;
  #cancelPause: CancelTimer = () => {};
  /** The number of connections, one after another, that ended before an answer. */
  #unheardEnds = 0;
  /** `host:port` of the last connection or attempt. */
  server = '';
  /** The time of the last grant. */
  grantedAt = -Infinity;
  /** The record of the hosts since one of them served the session. */
  readonly history: HostHistory;

  constructor(options: DiallerOptions) {
    this.#options = options;
    this.#names = options.hosts.map(nameOf);
    this.#routes = new Routes(options.network.names, options.clock);
    this.#routesElsewhere = new Routes(options.network.names, options.clock);
    this.#memory = options.network.memory ?? new ServerMemory();
    this.history = new HostHistory(this.#names, options.unansweredRounds);
  }

  /**
   * Dials the next server, after a pause if a round over the servers begins. Calls `dialled` when the attempt begins, or
   * `failed` if the addresses of the server are not known.
   */
  next(listener: HandshakeListener, dialled: (handshake: Handshake) => void, failed: (why: unknown) => void): void {
    const { hosts, clock, random } = this.#options;
    const index = this.#nextHost % hosts.length;
    const host = hosts[index];
    if (host === undefined) return;
    this.#routesElsewhere.forget();
    this.server = nameOf(host);
    this.#nextHost = index + 1;
    const delayMs = index === 0 ? this.history.beginRound(clock.now(), random(), this.#options.mostPauseMs()) : 0;
    const find = (): void =>
      this.#routes.find(host.host, (route) => {
        this.#pendingHosts = route.is === 'pending' ? this.#pendingHosts + 1 : 0;
        this.history.dial(this.server, route.is === 'found' ? route.addresses : []);
        if (route.is === 'found') {
          const addresses = this.#memory.inOrder(this.server, route.addresses, random);
          dialled(this.#dial(host, addresses, listener));
        } else failed(route.is === 'failed' ? route.error : new Error(pendingText(host)));
      });
    // Nothing can be dialled before a lookup is answered.
    const isPending = index === 0 && this.#pendingHosts >= hosts.length;
    this.#cancelPause = isPending ? this.#routes.whenAnswered(find) : clock.after(delayMs, find);
  }

  /** Dials the server of the present connection a second time. */
  again({ host, address }: ServerLink, listener: HandshakeListener): Handshake {
    return inNoContext(() => this.#dial(host, address === undefined ? [] : [address], listener));
  }

  /**
   * Finds another server than that of `link`, or another address of it, and calls `found` with a function that dials it.
   * Does not call it if the addresses are not known.
   */
  findElsewhere(link: ServerLink, found: (dial: Dial) => void): void {
    const { hosts, random } = this.#options;
    const next = [...hosts.slice(this.#nextHost), ...hosts].find((each) => nameOf(each) !== link.server);
    const host = next ?? link.host;
    this.#nextHost = hosts.indexOf(host) + 1;
    this.avoid(link);
    this.#routesElsewhere.forget();
    this.#routesElsewhere.find(host.host, (route) => {
      if (route.is !== 'found') return;
      const addresses = this.#memory.inOrder(nameOf(host), route.addresses, random);
      found((listener) => inNoContext(() => this.#dial(host, addresses, listener)));
    });
  }

  /** A server granted the session. */
  granted({ link, startedAt, readyAt, askedAt }: Handshake): void {
    this.server = link.server;
    this.grantedAt = this.#options.clock.now();
    this.history.granted();
    this.#memory.granted(link.server, link.address, readyAt - startedAt + this.grantedAt - askedAt);
    this.#routes.forget();
    this.#routesElsewhere.forget();
  }

  /**
   * The connection of the session has ended. One cut before the first answer could arrive says little about its address,
   * and the other addresses of its host may be dead.
   */
  ended(link: ServerLink, wasHeard: boolean): void {
    this.#unheardEnds = wasHeard ? 0 : this.#unheardEnds + 1;
    const wasSilent = this.#options.clock.now() >= this.grantedAt + this.#memory.longestMs(this.#names);
    if (!wasHeard && (wasSilent || this.#unheardEnds > 1)) this.avoid(link);
  }

  /** The address of this link serves no session. If its host has others, they are dialled first. */
  avoid({ server, address }: ServerLink): void {
    this.#memory.failed(server, address);
  }

  /** Ends the pause, if there is one: no server is dialled any more. */
  stop(): void {
    this.#cancelPause();
    this.#routes.forget();
    this.#routesElsewhere.forget();
  }

  #dial(host: Host, addresses: readonly string[], listener: HandshakeListener): Handshake {
    const { network, tls } = this.#options;
    const measuredMs = this.#memory.longestMs(this.#names);
    const attemptMs = (): number => this.#options.attemptMs(this.history.unansweredRounds, measuredMs);
    const handshake = new Handshake({ ...this.#options, attemptMs, host }, listener);
    const firstMs = attemptMs();
    const way = { addresses, headStartMs: headStartMs(firstMs, addresses.length, measuredMs) };
    const socket = network.connect(host, tls, way);
    const link = new ServerLink(socket, host, handshake, (message, error) => this.#options.warn(message, error));
    // After the TLS handshake, because a ConnectRequest counts from the time when it is sent.
    socket.on(tls ? 'secureConnect' : 'connect', () => handshake.connected());
    handshake.begin(link, firstMs);
    return handshake;
  }
}

export type Dial = (listener: HandshakeListener) => Handshake;

export interface DiallerOptions extends Omit<HandshakeOptions, 'attemptMs' | 'host'> {
  readonly hosts: readonly Host[];
  readonly tls?: TlsSource | undefined;
  readonly sasl: SaslSource | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly network: Network;
  /** The number of rounds over the hosts that had no answer just before, for the length of the first attempts. */
  readonly unansweredRounds?: number | undefined;
  attemptMs(unansweredRounds: number, measuredMs: number): number;
  /** The longest pause before a round, in milliseconds. */
  mostPauseMs(): number;
  warn(message: string, error: unknown): void;
}

function nameOf(host: Host): string {
  return describeHosts({ hosts: [host] });
}

function pendingText({ host }: Host): string {
  return `The lookup of ${host} has not been answered yet`;
}
