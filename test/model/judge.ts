import { unproven, type ClockEvent, type SessionProof } from '../../src/zookeeper/session-clock.ts';
import type { ClockRule } from './clock-rules.ts';
import type { SessionWitness } from './ensemble-model.ts';

/**
 * One rule's view of one history. Late: by how much its deadline lay after the end of the session, at most; -Infinity:
 * never looked at.
 */
export interface Verdict {
  readonly rule: ClockRule;
  proof: SessionProof;
  /** Against the newest leader's decision, which comes before the commit that others see. */
  lateMs: number;
  /** The same without the margin for the rates of clocks. */
  bareLateMs: number;
  /** Against that commit. */
  lateAfterCommitMs: number;
}

/** Watches a session end, and what each rule believes meanwhile. */
export class Judge implements SessionWitness {
  readonly verdicts: readonly Verdict[];
  readonly #tickTimeMs: number | undefined;
  readonly #clientTime: () => number;
  #state: 'alive' | 'decided' | 'closed' = 'alive';
  /** The shortest that was left of the first rule's deadline when it was put off. */
  leastLeftMs = Infinity;
  /** The longest that it ever lay ahead. */
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
    // An answer may put a deadline off after the end, too.
    if (this.#state !== 'alive') this.#look();
  }

  /** Whether any deadline, margin or not, is still to come. */
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
