import type { Clock } from '../../src/support/clock.ts';
import type { ProposerOptions } from '../../packages/testing/src/tree/proposer.ts';

/** The options of an ensemble, with their defaults, and what follows from them. */
export interface Settings extends ProposerOptions {
  readonly clock: EnsembleClock;
  readonly random: () => number;
  readonly tickTimeMs: number;
  readonly minSessionTimeoutMs: number;
  readonly maxSessionTimeoutMs: number;
  readonly containerCheckIntervalMs: number;
  /** In ticks. */
  readonly syncLimit: number;
  /** The number of members that a leader needs, including itself. */
  readonly quorum: number;
  /** The delay of the next message between two members. */
  readonly delayMs: () => number;
  /** The time that a member looks for a leader before it votes. */
  readonly electionMs: () => number;
}

/** The part of a clock that an ensemble uses. */
export type EnsembleClock = Pick<Clock, 'now' | 'after'>;
