import { deadlineOf, learn, type ClockEvent, type SessionProof } from '../../src/zookeeper/session/session-clock.ts';

/** A way to calculate, from a client's answers, until when its session lives. */
export interface ClockRule {
  readonly name: string;
  readonly learn: (proof: SessionProof, event: ClockEvent, tickTimeMs?: number) => SessionProof;
  readonly deadlineOf: (proof: SessionProof) => number;
}

export const realRule: ClockRule = { name: 'the session clock', learn, deadlineOf };

/** Rules that look right. Each is the real rule, except that it trusts a little more. */
export const brokenRules: readonly ClockRule[] = [
  {
    name: 'newest answer + timeout',
    learn: (proof, event, tickTimeMs) =>
      believing(learn(proof, event, tickTimeMs), event.is === 'answered' ? event.answeredAt : -Infinity),
    deadlineOf,
  },
  {
    name: 'sync as proof',
    learn: (proof, event, tickTimeMs) =>
      believing(
        learn(proof, event, tickTimeMs),
        event.is === 'answered' && event.kind === 'sync' ? event.sentAt : -Infinity,
      ),
    deadlineOf,
  },
  {
    name: 'W without V',
    learn: (proof, event, tickTimeMs) => {
      const next = learn(proof, event, tickTimeMs);
      return { ...believing(next, next.relayed?.sentAt ?? -Infinity), relayed: undefined };
    },
    deadlineOf,
  },
  {
    name: 'relay from the sent time',
    learn: (proof, event, tickTimeMs) => {
      const next = learn(proof, event, tickTimeMs);
      return { ...next, written: next.written.map(({ sentAt }) => ({ sentAt, answeredAt: sentAt })) };
    },
    deadlineOf,
  },
];

function believing(proof: SessionProof, provenAt: number): SessionProof {
  return provenAt > proof.provenAt ? { ...proof, provenAt } : proof;
}
