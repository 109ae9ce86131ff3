import {
  context,
  SpanKind,
  SpanStatusCode,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import type {
  AcquireMessage,
  HoldMessage,
  LockMessage,
  TransactionMessage,
} from '../../../src/mutex/report/lock-tracing.js';
import { errorText } from '../../../src/support/error-text.js';
import type { LockLabel, LockLabels } from './lock-labels.js';
import type { Observer } from './subscriptions.js';

/**
 * The spans of locks. Each is created when its operation has ended, because only then it is known whether the acquire was
 * a re-entrant one, which has no span. Its parent is the span in which the operation began.
 */
export class LockSpans {
  readonly acquires: Observer<AcquireMessage, Begun>;
  readonly holds: Observer<HoldMessage, Begun>;
  readonly transactions: Observer<TransactionMessage, Begun>;

  constructor(tracer: Tracer, labels: LockLabels) {
    this.acquires = new SpansOf(tracer, labels, 'zookeeper.lock.acquire', SpanKind.CLIENT, {
      finish: (span, message) => {
        const { outcome, mode } = message;
        if (outcome === 'failed' || (outcome === 'timed-out' && mode !== 'tryAcquire')) failed(span, message);
      },
    });
    this.holds = new SpansOf(tracer, labels, 'zookeeper.lock.hold', SpanKind.INTERNAL, {
      finish: (span, message, { startTime, endTime }) => {
        const { waitedMs, position, reason } = message;
        const waited = { 'zookeeper.lock.wait.duration': waitedMs / 1_000, ...positionOf(position) };
        span.addEvent('zookeeper.lock.wait', waited, startTime);
        if (reason === undefined) return;
        span.addEvent('zookeeper.lock.loss', { reason }, endTime);
        failed(span, message);
      },
    });
    this.transactions = new SpansOf(tracer, labels, 'zookeeper.lock.transaction', SpanKind.CLIENT, {
      finish: (span, message) => message.outcome === 'committed' || failed(span, message),
    });
  }
}

class SpansOf<Message extends SpanMessage> implements Observer<Message, Begun> {
  readonly #tracer: Tracer;
  readonly #labels: LockLabels;
  readonly #name: string;
  readonly #kind: SpanKind;
  readonly #finish: (span: Span, message: Message, times: Times) => unknown;

  constructor(tracer: Tracer, labels: LockLabels, name: string, kind: SpanKind, { finish }: Finish<Message>) {
    this.#tracer = tracer;
    this.#labels = labels;
    this.#name = name;
    this.#kind = kind;
    this.#finish = finish;
  }

  began(message: Message): Begun {
    return { label: this.#labels.of(message), parent: context.active(), startTime: Date.now() };
  }

  ended(message: Message, begun: Begun | undefined): void {
    if (begun === undefined || (message.isReentrant && message.mode !== 'commit')) return;
    const { label, parent, startTime } = begun;
    const options = { kind: this.#kind, startTime, attributes: label.attributes };
    const span = this.#tracer.startSpan(this.#name, options, parent);
    const endTime = startTime + (message.durationMs ?? 0);
    if (span.isRecording()) {
      span.setAttributes(attributesOf(message));
      this.#finish(span, message, { startTime, endTime });
    }
    span.end(endTime);
  }
}

/** The facts of the start. A sampler sees only the name, the kind and the attributes of the label. */
interface Begun {
  readonly label: LockLabel;
  readonly parent: Context;
  /** Milliseconds of the wall clock. */
  readonly startTime: number;
}

function attributesOf({ path, mode, outcome, fencingToken, position }: SpanMessage): Attributes {
  return {
    'zookeeper.lock.path': path,
    'zookeeper.lock.mode': mode,
    ...(outcome !== undefined && { outcome }),
    // A bigint is no value of an attribute.
    ...(fencingToken !== undefined && { 'zookeeper.lock.fencing_token': String(fencingToken) }),
    ...positionOf(position),
  };
}

type SpanMessage = LockMessage & {
  readonly mode: string;
  readonly outcome: string | undefined;
  readonly reason: string | undefined;
  readonly error: unknown;
};

interface Finish<Message> {
  /** Adds what is said only about a span that is recorded. */
  readonly finish: (span: Span, message: Message, times: Times) => unknown;
}

/** Milliseconds of the wall clock. */
interface Times {
  readonly startTime: number;
  readonly endTime: number;
}

function positionOf(position: number | undefined): Attributes {
  return position === undefined ? {} : { 'zookeeper.lock.position': position };
}

function failed(span: Span, { reason, error }: Pick<SpanMessage, 'reason' | 'error'>): void {
  span.setAttribute('error.type', reason ?? (error instanceof Error ? error.name : '_OTHER'));
  span.setStatus({ code: SpanStatusCode.ERROR, message: errorText(error) });
}
