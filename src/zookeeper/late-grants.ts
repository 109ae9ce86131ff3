import type { CancelTimer, Clock } from '../support/clock.js';
import { inNoContext } from '../support/no-context.js';
import type { Link, Network } from './network.js';
import { closeSession } from './operations.js';
import { Writer } from './wire.js';

/**
 * A network whose links close the sessions that are granted too late. A server may grant a new session after the client
 * has given up the attempt. No other connection can close that session, because the grant has its id and its password.
 * It would live until its timeout.
 */
export function closeLateGrants(network: Network, clock: Clock): Network {
  return { ...network, connect: (...to) => new AskingLink(network.connect(...to), clock) };
}

/**
 * A link that asks for a session. If it is destroyed before the server answers, it ends for its user at once. In the
 * background it stays until the server has closed the session, but not longer than `longestMs`.
 */
class AskingLink implements Link {
  readonly #link: Link;
  readonly #clock: Clock;
  #state: LinkState = { at: 'silent' };
  #onData: ((chunk: Buffer) => void) | undefined;
  #onClose: (() => void) | undefined;

  constructor(link: Link, clock: Clock) {
    this.#link = link;
    this.#clock = clock;
    link.on('data', (chunk) => {
      if (this.#state.at === 'given up') return;
      this.#state = { at: 'answered' };
      this.#onData?.(chunk);
    });
    link.on('close', () => {
      if (this.#state.at === 'given up') this.#state.cancel();
      else this.#onClose?.();
    });
  }

  get destroyed(): boolean {
    return this.#state.at === 'given up' || this.#link.destroyed;
  }

  get errored(): Error | null {
    return this.#state.at === 'given up' ? this.#state.error : this.#link.errored;
  }

  get writableNeedDrain(): boolean {
    return this.#link.writableNeedDrain;
  }

  get remoteAddress(): string | undefined {
    return this.#link.remoteAddress;
  }

  write(chunk: Uint8Array): boolean {
    if (this.#state.at === 'silent' && asksForNewSession(Buffer.from(chunk))) this.#state = { at: 'asking' };
    return this.#link.write(chunk);
  }

  destroy(error?: Error): void {
    if (this.#state.at === 'given up') return;
    if (this.#state.at !== 'asking' || this.#link.destroyed) {
      this.#link.destroy(error);
      return;
    }
    // The server reads it when it has granted the session, and then ends the connection.
    this.#link.write(closeSessionFrame);
    // A process that has given up may exit meanwhile. What was written is sent all the same.
    this.#link.unref?.();
    const end = (): void => void this.#link.destroy();
    const cancel = inNoContext(() => this.#clock.after(longestMs, end, { keepsProcess: false }));
    this.#state = { at: 'given up', error: error ?? null, cancel };
    this.#clock.afterPoll(() => this.#onClose?.());
  }

  on(event: 'connect' | 'secureConnect' | 'drain' | 'close' | 'error', listener: () => void): this;
  on(event: 'data', listener: (chunk: Buffer) => void): this;
  on(event: string, listener: (...values: never[]) => void): this {
    if (event === 'data') this.#onData = listener as (chunk: Buffer) => void;
    else if (event === 'close') this.#onClose = listener;
    else this.#link.on(event as 'connect', listener);
    return this;
  }
}

type LinkState =
  | { readonly at: 'silent' }
  /** The ConnectRequest for a new session has no answer yet. */
  | { readonly at: 'asking' }
  | { readonly at: 'answered' }
  | { readonly at: 'given up'; readonly error: Error | null; readonly cancel: CancelTimer };

/** A longer wait would keep a connection of an overloaded server. */
const longestMs = 2_000;

/** A request with the number 1. */
export const closeSessionFrame = new Writer().int(1).int(closeSession().opcode).frame();

/** True for a ConnectRequest whose session id is 0: after the length, the version, the zxid and the timeout. */
function asksForNewSession(frame: Buffer): boolean {
  return frame.length >= 28 && frame.readBigInt64BE(20) === 0n;
}
