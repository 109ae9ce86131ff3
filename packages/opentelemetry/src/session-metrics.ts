import type { BatchObservableResult, Meter } from '@opentelemetry/api';
import type { SessionMessage } from '../../../src/client/report/session-tracing.js';
import { observeUntilEnd } from './observations.js';
import type { Observer } from './subscriptions.js';

/** The metrics of sessions. The servers of the connect string name them, because a process has few of those. */
export class SessionMetrics implements Observer<SessionMessage, undefined> {
  readonly #live = new Set<SessionMessage>();
  /**
   * The value for servers without a live session: 0 after a loss, and no number after `close()`. If nothing were
   * observed, the SDK would repeat the last value forever.
   */
  readonly #withoutSession = new Map<string, number>();
  readonly #sessions;
  readonly #losses;
  readonly #reconnects;
  /** Ends the series of the remaining time with no number, in the next collection. */
  readonly end: () => void;

  constructor(meter: Meter) {
    this.#sessions = meter.createCounter('zookeeper.sessions', {
      unit: '{session}',
      description: 'Sessions that were opened',
    });
    this.#losses = meter.createCounter('zookeeper.session.losses', {
      unit: '{session}',
      description: 'Sessions that ended before their client was closed',
    });
    this.#reconnects = meter.createCounter('zookeeper.session.reconnects', {
      unit: '{reconnect}',
      description: 'Connections that were lost and made again, in the same session',
    });
    const remaining = meter.createObservableGauge('zookeeper.session.remaining', {
      unit: 's',
      description: 'The time that the session has left if no server answers from now on',
    });
    const observe = (result: BatchObservableResult): void => {
      for (const [ensemble, remainingMs] of this.#leastRemaining())
        result.observe(remaining, remainingMs / 1_000, attributesOf(ensemble));
    };
    const stopObserving = observeUntilEnd(meter, [remaining], observe);
    this.end = () => {
      for (const ensemble of this.#leastRemaining().keys()) this.#withoutSession.set(ensemble, NaN);
      this.#live.clear();
      stopObserving();
    };
  }

  began(message: SessionMessage): undefined {
    if (message.mode !== 'session') return;
    this.#live.add(message);
    this.#sessions.add(1, attributesOf(message.ensemble));
    // Without these, a series does not exist before the first loss or reconnect, and no query sees that one.
    this.#losses.add(0, attributesOf(message.ensemble));
    this.#reconnects.add(0, attributesOf(message.ensemble));
  }

  ended(message: SessionMessage): void {
    if (this.#live.delete(message)) {
      const isLost = message.outcome !== 'closed';
      this.#withoutSession.set(message.ensemble, isLost ? 0 : NaN);
      if (isLost) this.#losses.add(1, attributesOf(message.ensemble));
    }
    if (message.outcome === 'reconnected') this.#reconnects.add(1, attributesOf(message.ensemble));
  }

  /** The session that ends first stands for all sessions with the same servers. */
  #leastRemaining(): Map<string, number> {
    const least = new Map(this.#withoutSession);
    for (const { ensemble } of this.#live) least.delete(ensemble);
    for (const { ensemble, remainingMs } of this.#live)
      least.set(ensemble, Math.min(remainingMs, least.get(ensemble) ?? Infinity));
    return least;
  }
}

function attributesOf(ensemble: string): { 'zookeeper.ensemble': string } {
  return { 'zookeeper.ensemble': ensemble };
}
