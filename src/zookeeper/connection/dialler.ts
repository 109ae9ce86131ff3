import { inNoContext } from '../../support/no-context.js';
import type { CancelTimer } from '../../support/clock.js';
import { headStartMs } from '../network/attempt-time.js';
import { type Host, nameOf, type Servers } from '../wire/connect-string.js';
import { Handshake, type HandshakeListener, type HandshakeOptions } from './handshake.js';
import { HostHistory } from './host-history.js';
import type { Network, TlsSource } from '../network/network.js';
import { Routes } from '../network/routes.js';
import type { ServerLink } from './server-link.js';
import { ServerMemory } from '../network/server-memory.js';
import { errorText } from '../../support/error-text.js';
import { shuffled } from '../../support/chance.js';

/** Chooses the server and the addresses of each attempt to connect, and the pause before a round over all servers. */
export class Dialler {
  readonly #options: DiallerOptions;
  /** The list that `#hosts` are of. */
  #list: readonly Host[] = [];
  /** In the order in which they are tried. */
  #hosts: readonly Host[] = [];
  #names: readonly string[] = [];
  readonly #routes: Routes;
  /** The lookup of a server to which the session may move. It must not disturb the lookups of the next attempt. */
  readonly #routesElsewhere: Routes;
  readonly #memory: ServerMemory;
  #nextHost = 0;
  /** The number of attempts since the last grant, or since the last whole round of them. */
  #attempts = 0;
  #outageSince: number | undefined;
  #cancelAsk: CancelTimer = () => {};
  /** The number of hosts, one after another, whose lookup was pending. */
  #pendingHosts = 0;
  /** Dials another server in place of the present one, for the attach that begins now. */
  #dialElsewhere: ((listener: HandshakeListener) => Handshake) | undefined;
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
    this.#routes = new Routes(options.network.names, options.clock);
    this.#routesElsewhere = new Routes(options.network.names, options.clock);
    this.#memory = options.network.memory ?? new ServerMemory();
    this.history = new HostHistory(this.#names, options.unansweredRounds);
    this.#followList();
  }

  /**
   * Dials the next server, after a pause if a round over the servers begins. Calls `dialled` when the attempt begins, or
   * `failed` if the addresses of the server are not known.
   */
  next(listener: HandshakeListener, dialled: (handshake: Handshake) => void, failed: (why: unknown) => void): void {
    const { clock, random } = this.#options;
    this.#cancelPause();
    const isListNew = this.#beginAttempt();
    this.#routesElsewhere.forget();
    const isRound = !isListNew && this.#nextHost % this.#hosts.length === 0;
    const delayMs = isRound ? this.history.beginRound(clock.now(), random(), this.#options.mostPauseMs()) : 0;
    const find = (): void => {
      const host = this.#takeHost();
      if (host === undefined) {
        this.#pause(
          (end) => clock.after(leastAskMs, end),
          () => this.next(listener, dialled, failed),
        );
        return;
      }
      this.#routes.find(host.host, (route) => {
        if (!this.#isListed(host)) {
          find();
          return;
        }
        this.#pendingHosts = route.is === 'pending' ? this.#pendingHosts + 1 : 0;
        this.history.dial(this.server, route.is === 'found' ? route.addresses : []);
        if (route.is === 'found') {
          const addresses = this.#memory.inOrder(this.server, route.addresses, random);
          const handshake = this.#dial(host, addresses, listener);
          this.#dropIfMoved(host, handshake);
          dialled(handshake);
        } else failed(route.is === 'failed' ? route.error : new Error(pendingText(host)));
      });
    };
    // Nothing can be dialled before a lookup is answered.
    const isPending = isRound && this.#pendingHosts >= this.#hosts.length;
    this.#pause((end) => (isPending ? this.#whenAnswered(end) : clock.after(delayMs, end)), find);
  }

  /** Ends the attempt if its host leaves the list meanwhile. */
  #dropIfMoved(host: Host, handshake: Handshake): void {
    const { servers } = this.#options;
    const stop = servers.onChange?.(() => {
      if (this.#isListed(host)) return;
      this.#cancelPause();
      handshake.drop(new Error(`${nameOf(host)} is none of the servers any more`));
    });
    this.#cancelPause = () => stop?.();
  }

  #isListed(host: Host): boolean {
    return this.#options.servers.hosts.some((each) => nameOf(each) === nameOf(host));
  }

  /** A lookup may hang for a long time, and a newer list may have no such host. */
  #whenAnswered(end: () => void): CancelTimer {
    const stop = this.#routes.whenAnswered(end);
    const cancel = this.#askEvery(leastAskMs);
    return () => {
      stop();
      cancel();
    };
  }

  /** The pause ends when `begin` says so, or when the list changes. */
  #pause(begin: (end: () => void) => CancelTimer, then: () => void): void {
    const end = (): void => {
      this.#cancelPause();
      then();
    };
    const stop = this.#options.servers.onChange?.(end);
    const cancel = begin(end);
    this.#cancelPause = () => {
      stop?.();
      cancel();
    };
  }

  /** The next host of the present list. Undefined while no list is known. */
  #takeHost(): Host | undefined {
    this.#followList();
    const index = this.#nextHost % this.#hosts.length;
    const host = this.#hosts[index];
    if (host === undefined) return undefined;
    this.server = nameOf(host);
    this.#nextHost = index + 1;
    this.#attempts += 1;
    return host;
  }

  /**
   * Asks for a newer list after a whole round of failures, and at the latest after some minutes. Returns true if the list
   * has changed, so that its servers have not failed yet.
   */
  #beginAttempt(): boolean {
    const { servers, clock } = this.#options;
    const before = this.#list;
    if (this.#outageSince === undefined) {
      this.#outageSince = clock.now();
      this.#cancelAsk = this.#askEvery(mostAskMs);
    } else if (this.#attempts >= this.#hosts.length) {
      this.#attempts = 0;
      servers.ask?.(clock.now() - this.#outageSince);
    }
    this.#followList();
    return this.#list !== before;
  }

  #askEvery(everyMs: number): CancelTimer {
    const { servers, clock } = this.#options;
    let cancel: CancelTimer = () => {};
    const askLater = (): void => {
      cancel = clock.after(everyMs, () => {
        // Before the list is asked for, because a new list ends this.
        askLater();
        servers.ask?.(clock.now() - (this.#outageSince ?? 0));
      });
    };
    if (servers.ask) askLater();
    return () => cancel();
  }

  #followList(): void {
    const { servers, random } = this.#options;
    if (servers.hosts === this.#list) return;
    this.#list = servers.hosts;
    // If all clients tried the servers in the same order, all would connect to the first one.
    this.#hosts = shuffled(this.#list, random);
    this.#names = this.#hosts.map(nameOf);
    this.#nextHost = 0;
    this.#attempts = 0;
    this.#pendingHosts = 0;
    this.history.follow(this.#names);
  }

  /** Dials the server of the present connection a second time, or the server that was found elsewhere. */
  again({ host, address }: ServerLink, listener: HandshakeListener): Handshake {
    return inNoContext(
      () => this.#dialElsewhere?.(listener) ?? this.#dial(host, address === undefined ? [] : [address], listener),
    );
  }

  /**
   * Finds another server than that of `link`, or another address of it, and calls `attach`, which has to dial it by
   * `again` at once. Does not call it if the addresses are not known.
   */
  findElsewhere(link: ServerLink, attach: () => void): void {
    const { random } = this.#options;
    this.#followList();
    const hosts = this.#hosts;
    const next = [...hosts.slice(this.#nextHost), ...hosts].find((each) => nameOf(each) !== link.server);
    const host = next ?? link.host;
    this.#nextHost = hosts.indexOf(host) + 1;
    this.avoid(link);
    this.#routesElsewhere.forget();
    this.#routesElsewhere.find(host.host, (route) => {
      if (route.is !== 'found') return;
      const addresses = this.#memory.inOrder(nameOf(host), route.addresses, random);
      this.#dialElsewhere = (listener) => this.#dial(host, addresses, listener);
      attach();
      this.#dialElsewhere = undefined;
    });
  }

  /** A server did what the session asked for. */
  served(): void {
    this.history.served();
    // Called for each answer.
    if (this.#outageSince !== undefined) this.#endOutage();
  }

  /** A server granted the session. */
  granted({ link, startedAt, readyAt, askedAt }: Handshake): void {
    this.server = link.server;
    this.#cancelPause();
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
    this.#endOutage();
  }

  #endOutage(): void {
    this.#cancelAsk();
    this.#outageSince = undefined;
    this.#attempts = 0;
  }

  #dial(host: Host, addresses: readonly string[], listener: HandshakeListener): Handshake {
    const { network, tls } = this.#options;
    const measuredMs = this.#memory.longestMs(this.#names);
    const attemptMs = (): number => this.#options.attemptMs(this.history.unansweredRounds, measuredMs);
    const warn = (message: string, error: unknown): void => {
      // A wrong port gives the same answer at each attempt.
      const isNews = errorText(this.history.failures.get(nameOf(host))) !== errorText(error);
      if (isNews) this.#options.warn(message, error);
    };
    const firstMs = attemptMs();
    const way = { addresses, headStartMs: headStartMs(firstMs, addresses.length, measuredMs) };
    const socket = network.connect(host, tls, way);
    const handshake = new Handshake(socket, { ...this.#options, attemptMs, firstMs, host, warn }, listener);
    // After the TLS handshake, because a ConnectRequest counts from the time when it is sent.
    socket.on(tls ? 'secureConnect' : 'connect', () => handshake.connected());
    return handshake;
  }
}

export interface DiallerOptions extends Omit<HandshakeOptions, 'attemptMs' | 'firstMs' | 'host'> {
  readonly servers: Servers;
  readonly tls?: TlsSource | undefined;
  readonly random: () => number;
  readonly network: Network;
  /** The number of rounds over the hosts that had no answer just before, for the length of the first attempts. */
  readonly unansweredRounds?: number | undefined;
  attemptMs(unansweredRounds: number, measuredMs: number): number;
  /** The longest pause before a round, in milliseconds. */
  mostPauseMs(): number;
}

function pendingText({ host }: Host): string {
  return `The lookup of ${host} has not been answered yet`;
}

/** While nothing can be dialled. `ask` makes the pauses longer in a long outage. */
const leastAskMs = 1_000;
/** Even if one attempt lasts longer. */
const mostAskMs = 120_000;
