import { metrics, trace, type MeterProvider, type TracerProvider } from '@opentelemetry/api';
import { expectFunction, expectMethod, expectOptions } from '../../../src/support/validate.js';
import { LockLabels } from './lock-labels.js';
import { LockMetrics } from './lock-metrics.js';
import { defaultLockName, guardedLockName } from './lock-names.js';
import { LockSpans } from './lock-spans.js';
import { SessionMetrics } from './session-metrics.js';
import { Subscriptions } from './subscriptions.js';

/**
 * Turns what all lock clients of this process do into OpenTelemetry metrics and spans, from now on. Call it once, before
 * the first client connects: sessions, waits and holds that began before are not counted. docs/observability.md lists the
 * instruments and the spans.
 *
 * @returns a function that stops it. The counters keep their values. In the next collection, the numbers of waiters and
 * of locks are 0, and the time of the session is no number
 * @throws TypeError for a bad option
 * @example
 * const stop = instrument({ lockName: (path) => path.split('/').slice(0, 3).join('/') });
 */
export function instrument(options: InstrumentOptions = {}): () => void {
  const { meterProvider, tracerProvider, lockName } = expectOptions('instrument', options, [
    'meterProvider',
    'tracerProvider',
    'lockName',
  ]);
  if (meterProvider !== undefined) expectMethod('meterProvider', meterProvider, 'getMeter');
  if (tracerProvider !== undefined) expectMethod('tracerProvider', tracerProvider, 'getTracer');
  if (lockName !== undefined) expectFunction('lockName', lockName);
  const labels = new LockLabels(lockName ? guardedLockName(lockName) : defaultLockName());
  const meter = (meterProvider ?? metrics.getMeterProvider()).getMeter(scope);
  const locks = new LockMetrics(meter, labels);
  const sessions = new SessionMetrics(meter);
  const spans = new LockSpans((tracerProvider ?? trace.getTracerProvider()).getTracer(scope), labels);
  const subscriptions = new Subscriptions();
  subscriptions.add('acquire', locks.acquires);
  subscriptions.add('acquire', spans.acquires);
  subscriptions.add('hold', locks.holds);
  subscriptions.add('hold', spans.holds);
  subscriptions.add('release', locks.releases);
  subscriptions.add('transaction', spans.transactions);
  subscriptions.add('session', sessions);
  return () => {
    subscriptions.end();
    locks.end();
    sessions.end();
  };
}

/** Options of {@link instrument}. */
export interface InstrumentOptions {
  /** The metrics go here. @default the global MeterProvider. Register it before, because a later one gets nothing */
  readonly meterProvider?: MeterProvider | undefined;
  /** The spans go here. @default the global TracerProvider */
  readonly tracerProvider?: TracerProvider | undefined;
  /**
   * Returns the name of a lock for metrics and spans, by its path. Each name is one time series of each instrument, so
   * there must be few names: leave out numbers of orders, users and the like. If the function throws, the name is `other`.
   *
   * @default a function that replaces each part of the path that contains a digit by `*`, as in `/locks/orders/*`, and
   * what follows the colon of a `lockKey`, as in `/locks/user:*`. After 100 different names, every further name is `other`
   */
  readonly lockName?: ((path: string) => string) | undefined;
}

/** The name of the instrumentation scope. */
const scope = 'zookeeper-fair-lock';
