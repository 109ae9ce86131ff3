import { inNoContext } from '../support/no-context.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import { describeHosts, type Host } from './connect-string.js';
import { Handshake, type HandshakeListener, type HandshakeOptions } from './handshake.js';
import { HostHistory } from './host-history.js';
import type { Network, TlsSource } from './network.js';
import type { SaslSource } from './sasl-handshake.js';
import { ServerLink } from './server-link.js';

/** Chooses the server of each attempt to connect, and the pause before a round over all servers. */
export class Dialler {
  readonly #options: DiallerOptions;
  #nextHost = 0;
  #cancelPause: CancelTimer = () => {};
  /** `host:port` of the last connection or attempt. */
  server = '';
  /** The record of the hosts since one of them served the session. */
  readonly history: HostHistory;

  constructor(options: DiallerOptions) {
    this.#options = options;
    const names = options.hosts.map((host) => describeHosts({ hosts: [host] }));
    this.history = new HostHistory(names, options.unansweredRounds);
  }

  /** Dials the next server, after a pause if a round over the servers begins. Calls `dialled` when the attempt begins. */
  next(listener: HandshakeListener, dialled: (handshake: Handshake) => void): void {
    const { hosts, clock, random } = this.#options;
    const index = this.#nextHost % hosts.length;
    const host = hosts[index];
    if (host === undefined) return;
    this.server = describeHosts({ hosts: [host] });
    this.#nextHost = index + 1;
    const delayMs = index === 0 ? this.history.beginRound(clock.now(), random()) : 0;
    this.#cancelPause = clock.after(delayMs, () => {
      this.history.dial(this.server);
      dialled(this.#dial(host, listener));
    });
  }

  /** Dials the server of the present connection a second time. */
  again(host: Host, listener: HandshakeListener): Handshake {
    return inNoContext(() => this.#dial(host, listener));
  }

  /** Ends the pause, if there is one: no server is dialled any more. */
  stop(): void {
    this.#cancelPause();
  }

  #dial(host: Host, listener: HandshakeListener): Handshake {
    const { network, tls } = this.#options;
    const attemptMs = (): number => this.#options.attemptMs(this.history.unansweredRounds);
    const handshake = new Handshake({ ...this.#options, attemptMs, host }, listener);
    const socket = network.connect(host, tls);
    const link = new ServerLink(socket, host, handshake, (message, error) => this.#options.warn(message, error));
    socket.on('lookup', (error, address, family) => {
      if (error === null && link.isOpen) this.history.found(address, Number(family));
    });
    // After the TLS handshake, because a ConnectRequest counts from the time when it is sent.
    socket.on(tls ? 'secureConnect' : 'connect', () => handshake.connected());
    handshake.begin(link);
    return handshake;
  }
}

export interface DiallerOptions extends Omit<HandshakeOptions, 'attemptMs' | 'host'> {
  readonly hosts: readonly Host[];
  readonly tls?: TlsSource | undefined;
  readonly sasl: SaslSource | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly network: Network;
  /** The number of rounds over the hosts that had no answer just before, for the length of the first attempts. */
  readonly unansweredRounds?: number | undefined;
  attemptMs(unansweredRounds: number): number;
  warn(message: string, error: unknown): void;
}
