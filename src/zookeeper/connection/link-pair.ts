import type { ConnectionListener } from './connection-options.js';
import type { Handshake, HandshakeListener } from './handshake.js';
import { Pipeline, type PipelineListener, type PipelineOptions } from './pipeline.js';
import { connectionLost, type Call } from '../wire/replies.js';
import type { SaslRefusal } from '../wire/sasl-handshake.js';
import { SecondLink } from './second-link.js';
import type { ServerLink } from './server-link.js';
import { reached } from '../../support/reached.js';

/** The pipeline on the session's link, and while the session attaches anew the second link. One of both stays. */
export class LinkPair {
  readonly pipeline: Pipeline;
  readonly #options: LinkPairOptions;
  readonly #listener: LinkPairListener;
  #second: SecondLink | undefined;

  constructor(link: ServerLink, options: LinkPairOptions, listener: LinkPairListener) {
    this.#options = options;
    this.#listener = listener;
    this.pipeline = new Pipeline(link, options, {
      ...listener,
      chunkRead: () => this.#second?.chunkRead(),
      refused: (why) => listener.refused(why, link),
      ended: (_pipeline, error) => this.#firstEnded(error),
    });
  }

  /** The number of requests that may be sent now. Further ones would wait in the process. */
  get room(): number {
    return this.#second?.isExchanging === true ? 0 : this.pipeline.room;
  }

  /** Sends the request, or holds it back while the links are exchanged. */
  send(call: Call): void {
    if (this.#second?.holdsBack(call) !== true) this.pipeline.send(call);
  }

  ping(): void {
    if (!this.#second) this.pipeline.ping();
  }

  /** Dials the same server a second time. */
  attach(drainMs: number): void {
    if (this.#second) return;
    const listener = this.#listener;
    const second = new SecondLink(this.pipeline, this.#options.clock, drainMs);
    this.#second = second;
    second.handshake = this.#options.dialAgain(this.pipeline.link, {
      ready: () => second.made(),
      granted: (response) => listener.granted(response),
      established: (handshake, auth) => this.#exchanged(second, handshake, auth),
      expired: () => listener.expired(),
      refused: ({ link, wasGranted }, why) => {
        // Before the ConnectRequest, only Kerberos' ticket can be missing. The present link needs none.
        if (wasGranted) listener.refused(why, link);
        else link.drop(why);
      },
      ranOut: () => {},
      ended: (handshake, error, wasGranted) => this.#secondEnded(second, handshake, error, wasGranted),
    });
  }

  /** Stops attaching, unless the server was asked already. The present link stays, unless it has ended. */
  stopAttaching(): void {
    if (this.#second?.mayStop !== true) return;
    reached('an attach stopped by a close');
    this.#second.abandon();
    if (this.pipeline.isEnded) this.#listener.ended(this);
    else this.#stay(this.#second);
  }

  /** Rejects all requests with CONNECTION_LOSS. */
  fail(): void {
    const second = this.#second;
    this.#second = undefined;
    this.#failPipeline();
    for (const call of second?.heldBack ?? []) call.reject(connectionLost(call.operation, this.#options.lastError()));
  }

  abandon(): void {
    this.#second?.abandon();
    this.pipeline.link.abandon();
    this.fail();
  }

  #exchanged(second: SecondLink, handshake: Handshake, auth: readonly Uint8Array[]): void {
    if (this.#second !== second) return;
    if (this.pipeline.isEnded) reached('an attach granted after the old connection had ended');
    this.pipeline.link.abandon();
    this.#carryOver(second);
    this.#second = undefined;
    this.#listener.exchanged(handshake, auth, second.heldBack);
  }

  #firstEnded(error: Error | undefined): void {
    const second = this.#second;
    // The server itself ends the old link of a session that attaches anew.
    if (second?.mayStop === true) reached('the old connection ended before an attach was asked for');
    if (second?.mayStop !== false) this.#listener.firstEnded(this, error);
    if (second) {
      this.#carryOver(second);
      second.drained();
    } else {
      this.#listener.ended(this);
    }
  }

  /** If the present link stands, it goes on. */
  #secondEnded(second: SecondLink, handshake: Handshake, error: Error | undefined, wasGranted: boolean): void {
    if (this.#second !== second) return;
    second.abandon();
    const hasForgotten = handshake.grantedOther && this.#options.traits.grantedOther();
    if (!this.pipeline.isEnded) {
      this.#stay(second);
      this.#listener.attachFailed();
    } else if (hasForgotten) {
      this.#listener.forgotten(error);
    } else {
      reached('both connections of an attach ended');
      this.#listener.bothEnded(this, handshake, error, wasGranted);
    }
  }

  /** The present link stays, and sends what was held back. */
  #stay(second: SecondLink): void {
    this.#second = undefined;
    if (second.heldBack.length > 0) reached('requests held back for an attach sent on the old connection');
    this.#listener.stayed(second.heldBack);
  }

  #carryOver(second: SecondLink): void {
    second.takeOver([...this.pipeline.takeRepeatable(), ...this.pipeline.takeUnsent()]);
    this.#failPipeline();
  }

  #failPipeline(): void {
    this.pipeline.fail(this.#options.lastError());
  }
}

interface LinkPairOptions extends PipelineOptions {
  /** Dials the server of the link a second time. */
  dialAgain(link: ServerLink, listener: HandshakeListener): Handshake;
  lastError(): unknown;
}

interface LinkPairListener
  extends
    Omit<PipelineListener, 'chunkRead' | 'refused' | 'ended'>,
    Pick<HandshakeListener, 'granted' | 'expired'>,
    Pick<ConnectionListener, 'attachFailed'> {
  refused(why: SaslRefusal, link: ServerLink): void;
  /** The second link takes the place of the first one, whose requests have failed. `heldBack` is to be sent on it. */
  exchanged(handshake: Handshake, auth: readonly Uint8Array[], heldBack: readonly Call[]): void;
  /** The first link stays, and `heldBack` is to be sent on it. */
  stayed(heldBack: readonly Call[]): void;
  /** The first link has ended by itself. `ended` follows, unless the session attaches anew. */
  firstEnded(links: LinkPair, error: Error | undefined): void;
  /** The first link has ended, and there is no second one. */
  ended(links: LinkPair): void;
  /** The second link has ended after the first one. */
  bothEnded(links: LinkPair, handshake: Handshake, error: Error | undefined, wasGranted: boolean): void;
  /** The session has ended for these servers: they grant another one. */
  forgotten(why: Error | undefined): void;
}
