import { unproven, type ClockEvent, type SessionProof } from '../../src/zookeeper/session/session-clock.ts';
import type { ClockRule } from './clock-rules.ts';
import type { SessionWitness } from './ensemble-model.ts';

/**
 * The result of one rule in one history. Late: the most by which its deadline lay after the end of the session;
 * -Infinity: never checked.
 */
export interface Verdict {
  readonly rule: ClockRule;
  proof: SessionProof;
  /** Compared with the newest leader's decision, which comes before the commit that others see. */
  lateMs: number;
  /** The same without the margin for different clock rates. */
  bareLateMs: number;
  /** Compared with that commit. */
  lateAfterCommitMs: number;
}

/** Watches the end of a session, and the deadline of each rule meanwhile. */
export class Judge implements SessionWitness {
  readonly verdicts: readonly Verdict[];
  readonly #tickTimeMs: number | undefined;
  readonly #clientTime: () => number;
  #state: 'alive' | 'decided' | 'closed' = 'alive';
  /** The shortest time that was left of the first rule's deadline when it was extended. */
  leastLeftMs = Infinity;
  /** The longest time that the first rule's deadline ever lay ahead. */
  mostLeftMs = -Infinity;

  constructor(rules: readonly ClockRule[], tickTimeMs: number | undefined, clientTime: () => number) {
    this.verdicts = rules.map((rule) => ({
      rule,
      proof: unproven,
      lateMs: -Infinity,
      bareLateMs: -Infinity,
      lateAfterCommitMs: -Infinity,
    }));
    this.#tickTimeMs = tickTimeMs;
    this.#clientTime = clientTime;
  }

  get isClosed(): boolean {
    return this.#state === 'closed';
  }

  hear(event: ClockEvent): void {
    for (const verdict of this.verdicts) {
      const before = verdict.proof;
      verdict.proof = verdict.rule.learn(before, event, this.#tickTimeMs);
      if (verdict === this.verdicts[0] && verdict.proof.provenAt > before.provenAt) {
        const now = this.#clientTime();
        if (before.provenAt !== -Infinity)
          this.leastLeftMs = Math.min(this.leastLeftMs, verdict.rule.deadlineOf(before) - now);
        this.mostLeftMs = Math.max(this.mostLeftMs, verdict.rule.deadlineOf(verdict.proof) - now);
      }
    }
    // An answer may extend a deadline even after the end.
    if (this.#state !== 'alive') this.#look();
  }

  /** True if any deadline, with or without margin, is still ahead. */
  isAwaited(): boolean {
    const now = this.#clientTime();
    return this.verdicts.some(({ proof }) => bareDeadlineOf(proof) > now);
  }

  decided(): void {
    if (this.#state === 'alive') this.#state = 'decided';
    this.#look();
  }

  closed(): void {
    this.#state = 'closed';
    this.#look();
  }

  revived(): void {
    this.#state = 'alive';
  }

  #look(): void {
    const now = this.#clientTime();
    for (const verdict of this.verdicts) {
      const late = verdict.rule.deadlineOf(verdict.proof) - now;
      verdict.lateMs = Math.max(verdict.lateMs, late);
      verdict.bareLateMs = Math.max(verdict.bareLateMs, bareDeadlineOf(verdict.proof) - now);
      if (this.#state === 'closed') verdict.lateAfterCommitMs = Math.max(verdict.lateAfterCommitMs, late);
    }
  }
}

function bareDeadlineOf({ provenAt, timeoutMs }: SessionProof): number {
  return provenAt === -Infinity ? -Infinity : provenAt + timeoutMs;
}
