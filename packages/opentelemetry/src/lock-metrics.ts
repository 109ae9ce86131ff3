import type { BatchObservableResult, Counter, Histogram, Meter } from '@opentelemetry/api';
import type { LossReason } from '../../../src/client/report/lock-lost-error.js';
import type { AcquireMessage, HoldMessage, ReleaseMessage } from '../../../src/mutex/report/lock-tracing.js';
import type { AcquireOutcome, LockLabel, LockLabels } from './lock-labels.js';
import { observeUntilEnd } from './observations.js';
import type { Observer } from './subscriptions.js';

/** The metrics of locks. A re-entrant acquire asks no server and waits for nobody, so it is not counted. */
export class LockMetrics {
  readonly acquires: Observer<AcquireMessage, LockLabel>;
  readonly holds: Observer<HoldMessage, LockLabel>;
  readonly releases: Observer<ReleaseMessage, LockLabel>;
  /**
   * Ends the series of the waiters and of the locks that are held with a 0 in the next collection. Without that, a
   * provider that goes on would repeat the last value forever.
   */
  readonly end: () => void;

  constructor(meter: Meter, labels: LockLabels) {
    const losses = meter.createCounter('zookeeper.lock.losses', {
      unit: '{lock}',
      description: 'Holds that ended before their release, by the reason',
    });
    const acquisitions = new Acquisitions(meter, losses);
    this.acquires = acquiresOf(meter, labels, acquisitions);
    this.holds = holdsOf(meter, labels, losses);
    this.releases = releasesOf(meter, labels);
    const waiting = meter.createObservableUpDownCounter('zookeeper.lock.waiting', {
      unit: '{acquire}',
      description: 'Acquires in progress: they wait for a lock, or for the answer of a server',
    });
    const held = meter.createObservableUpDownCounter('zookeeper.lock.held', {
      unit: '{lock}',
      description: 'Locks that this process holds',
    });
    // When the metrics are collected. That costs the acquires less than an `add` for each of them.
    const observe = (result: BatchObservableResult): void => {
      for (const label of labels.all()) {
        acquisitions.add(label);
        result.observe(waiting, label.waiting, label.attributes);
        result.observe(held, label.held, label.attributes);
      }
    };
    const stopObserving = observeUntilEnd(meter, [waiting, held], observe);
    this.end = () => {
      for (const label of labels.all()) {
        label.waiting = 0;
        label.held = 0;
      }
      stopObserving();
    };
  }
}

/** The counter of the acquires. It grows by groups of a label's acquires, because each `add` is slow. */
class Acquisitions {
  readonly #counter: Counter;
  readonly #losses: Counter;

  constructor(meter: Meter, losses: Counter) {
    this.#losses = losses;
    this.#counter = meter.createCounter('zookeeper.lock.acquisitions', {
      unit: '{acquire}',
      description: 'Acquires that have settled, by their outcome',
    });
  }

  /** A query sees only how much a series grows, so a series that begins with its first failure would hide that failure. */
  begin(label: LockLabel): void {
    label.isNew = false;
    for (const outcome of outcomes) this.#counter.add(0, label.withOutcome(outcome));
    for (const reason of lossReasons) this.#losses.add(0, label.withReason(reason));
  }

  settled(label: LockLabel, outcome: AcquireOutcome): void {
    if (label.acquired(outcome) >= mostInGroup) this.add(label);
  }

  add(label: LockLabel): void {
    for (const [outcome, count] of label.takeAcquisitions()) this.#counter.add(count, label.withOutcome(outcome));
  }
}

function acquiresOf(meter: Meter, labels: LockLabels, acquisitions: Acquisitions): Observer<AcquireMessage, LockLabel> {
  const wait = durationOf(meter, 'zookeeper.lock.wait.duration', 'The time from an acquire until it settles');
  return {
    began: (message) => {
      const label = labels.of(message);
      label.waiting += 1;
      if (label.isNew) acquisitions.begin(label);
      return label;
    },
    ended: ({ outcome, durationMs, isReentrant }, label) => {
      if (label === undefined) return;
      label.waiting -= 1;
      if (isReentrant || outcome === undefined || durationMs === undefined) return;
      acquisitions.settled(label, outcome);
      wait.record(durationMs / 1_000, label.withOutcome(outcome));
    },
  };
}

function holdsOf(meter: Meter, labels: LockLabels, losses: Counter): Observer<HoldMessage, LockLabel> {
  const duration = durationOf(meter, 'zookeeper.lock.hold.duration', 'The time from a grant until its end');
  return {
    began: (message) => {
      if (message.isReentrant) return undefined;
      const label = labels.of(message);
      label.held += 1;
      return label;
    },
    ended: ({ outcome, durationMs, reason }, label) => {
      if (label === undefined) return;
      label.held -= 1;
      if (outcome === undefined || durationMs === undefined) return;
      duration.record(durationMs / 1_000, label.withOutcome(outcome));
      if (reason !== undefined) losses.add(1, label.withReason(reason));
    },
  };
}

function releasesOf(meter: Meter, labels: LockLabels): Observer<ReleaseMessage, LockLabel> {
  const duration = durationOf(
    meter,
    'zookeeper.lock.release.duration',
    'The time from a release until the servers have answered',
  );
  return {
    began: (message) => (message.isReentrant ? undefined : labels.of(message)),
    ended: ({ outcome, durationMs }, label) => {
      if (label === undefined || outcome === undefined || durationMs === undefined) return;
      duration.record(durationMs / 1_000, label.withOutcome(outcome));
    },
  };
}

function durationOf(meter: Meter, name: string, description: string): Histogram {
  return meter.createHistogram(name, { unit: 's', description, advice: { explicitBucketBoundaries } });
}

/** Seconds. One round trip takes a millisecond or less; some jobs hold a lock for hours. */
const explicitBucketBoundaries = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800,
];

const outcomes: readonly AcquireOutcome[] = ['acquired', 'timed-out', 'aborted', 'failed'];

const lossReasons: readonly LossReason[] = [
  'session-expired',
  'session-deadline',
  'node-deleted',
  'forced',
  'lease-expired',
  'client-closed',
];

/** If the metrics are collected seldom, the counter grows at least with every such group. */
const mostInGroup = 100;
