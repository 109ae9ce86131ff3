import { jsonOf, showByJson } from './shown.js';

/**
 * One operation on a tracing channel, from its start to its end. It is created only while the channel has subscribers,
 * so that nobody pays for messages that nobody reads.
 */
export class TracedOperation<Message extends TracingMessage> {
  readonly message: Message;
  readonly #channel: OperationChannel<Message>;
  readonly #around: Around;
  #isOver = false;

  /** @param around calls the subscribers: they are code of the application, and must not run as the owner of a lock */
  constructor(channel: OperationChannel<NoInfer<Message>>, message: Message, around: Around) {
    this.message = message;
    this.#channel = channel;
    this.#around = around;
    around(() => {
      channel.start.publish(message);
      channel.end.publish(message);
    });
  }

  /** Only the first end counts. */
  end({ outcome, durationMs, reason, error }: Ending<Message>): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { message } = this;
    message.outcome = outcome;
    message.durationMs = durationMs;
    message.reason = reason;
    if (error !== undefined) message.error = error;
    this.#around(() => {
      if (error !== undefined) this.#channel.error.publish(message);
      this.#channel.asyncStart.publish(message);
      this.#channel.asyncEnd.publish(message);
    });
  }
}

/**
 * The part of a tracing channel that an operation uses. Not Node's own type, because @types/node 26 has exchanged its
 * type parameters.
 */
type OperationChannel<Message> = Readonly<
  Record<'start' | 'end' | 'asyncStart' | 'asyncEnd' | 'error', { publish(message: Message): void }>
>;

type Around = (publish: () => void) => void;

interface Ending<Message extends TracingMessage> {
  readonly outcome: Message['outcome'];
  readonly durationMs: number;
  readonly reason?: string | undefined;
  readonly error?: unknown;
}

/** The fields of each message. Each operation has one message object, which its end completes. */
export class TracingMessage {
  path: string | undefined;
  kind: string;
  mode: string;
  position: number | undefined;
  fencingToken: bigint | undefined;
  outcome: string | undefined;
  reason: string | undefined;
  durationMs: number | undefined;
  error: unknown;

  constructor({ path, kind, mode, position, fencingToken }: TracingStart) {
    this.path = path;
    this.kind = kind;
    this.mode = mode;
    this.position = position;
    this.fencingToken = fencingToken;
    this.outcome = undefined;
    this.reason = undefined;
    this.durationMs = undefined;
    this.error = undefined;
  }

  toJSON(): object {
    return jsonOf(this);
  }

  static {
    showByJson(this, 'TracingMessage');
  }
}

export interface TracingStart {
  readonly path: string | undefined;
  readonly kind: string;
  readonly mode: string;
  readonly position?: number | undefined;
  readonly fencingToken?: bigint | undefined;
}
