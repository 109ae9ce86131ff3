import { isError } from '../../support/error-text.js';
import { FrameSplitter, longestFrame } from '../wire/frames.js';
import { longestConnectResponse } from '../wire/connect-response.js';
import { nameOf, type Host } from '../wire/connect-string.js';
import type { Link } from '../network/network.js';

/**
 * One TCP connection to one server: whole frames come in, bytes go out, and its end is told once. Its user is first the
 * handshake, and then the pipeline of requests.
 */
export class ServerLink {
  readonly #link: Link;
  readonly #warn: (message: string, error: unknown) => void;
  readonly #frames = new FrameSplitter(longestConnectResponse);
  #user: LinkUser;
  #isOpen = true;
  #wasDropped = false;
  readonly host: Host;
  /** `host:port` of the server. Made once, because each request asks for it. */
  readonly server: string;
  /** The IP address of the server. Kept, because a socket that has ended knows it no more. */
  address: string | undefined;

  constructor(link: Link, host: Host, user: LinkUser, warn: (message: string, error: unknown) => void) {
    this.#link = link;
    this.#warn = warn;
    this.#user = user;
    this.host = host;
    this.server = nameOf(host);
    link.on('data', (chunk) => this.guard(() => this.#receive(chunk)));
    link.on('drain', () => this.guard(() => this.#user.drained?.()));
    link.on('close', () => this.#closed());
    link.on('error', () => {
      // The event 'close' follows, and `errored` keeps the error.
    });
  }

  /** False once the link has ended, or was told to end. */
  get isOpen(): boolean {
    return this.#isOpen && !this.#link.destroyed;
  }

  /** False if written bytes wait for the event `drained`. */
  get hasRoom(): boolean {
    return !this.#link.writableNeedDrain;
  }

  /** Gives the link, and the frames that follow, to another user. */
  passTo(user: LinkUser): void {
    this.#user = user;
    this.#frames.longest = longestFrame;
  }

  /** The link can carry bytes. */
  connected(): void {
    this.address = this.#link.remoteAddress;
  }

  write(bytes: Uint8Array): void {
    this.#link.write(bytes);
  }

  /** True if `drop` was called: this client ended the link. */
  get wasDropped(): boolean {
    return this.#wasDropped;
  }

  /** Ends the link. Its user is told. */
  drop(why: Error): void {
    this.#wasDropped = true;
    this.#link.destroy(why);
  }

  /** Ends the link. Nobody is told. */
  abandon(): void {
    this.#isOpen = false;
    this.#link.destroy();
  }

  /** Lets the process exit while the link is open. */
  unref(): void {
    this.#link.unref?.();
  }

  /**
   * Catches every error in a handler of the link, so that none reaches the process. The link is given up, because only
   * a new connection is in a known state.
   */
  guard(run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#warn(this.#user.failure, error);
      this.drop(isError(error) ? error : new Error(String(error)));
    }
  }

  #receive(chunk: Buffer): void {
    for (const frame of this.#frames.push(chunk)) {
      if (!this.isOpen) return;
      this.#user.receive(frame);
    }
    if (this.isOpen) this.#user.chunkEnded?.();
  }

  #closed(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    try {
      this.#user.ended(this.#link.errored ?? undefined);
    } catch (error) {
      this.#warn('The loss of a connection could not be reported completely', error);
    }
  }
}

/** The methods are called synchronously, in the order of the events on the socket. */
export interface LinkUser {
  /** The warning if a method of the user throws. */
  readonly failure: string;
  receive(frame: Buffer): void;
  /** All frames of one chunk of the socket were received. */
  chunkEnded?(): void;
  /** The link has room again. */
  drained?(): void;
  /** @param error undefined if the server closed the connection */
  ended(error: Error | undefined): void;
}
