import { expect } from 'chai';
import fc from 'fast-check';
import { deadlineOf, learn, relayMs, unproven, type ClockEvent } from '../../src/zookeeper/session/session-clock.ts';

type Kind = 'read' | 'sync' | 'write';

const granted = (sentAt: number, timeoutMs = 12_000): ClockEvent => ({ is: 'granted', sentAt, timeoutMs });
const answered = (kind: Kind, sentAt: number, answeredAt = sentAt): ClockEvent => ({
  is: 'answered',
  kind,
  sentAt,
  answeredAt,
});
const disconnected: ClockEvent = { is: 'disconnected' };
const proven = (...events: ClockEvent[]): number =>
  events.reduce((proof, event) => learn(proof, event), unproven).provenAt;

// With a timeout of 12 s, the relay time is 4 s.
/** A write at 1,000, and W behind it: only the request V is missing. */
const withoutV = [granted(0), answered('write', 1_000, 1_010), answered('write', 6_000, 6_010)];

describe('the request behind W', () => {
  const provenBy = (sentAt: number): number =>
    [...withoutV, answered('sync', sentAt, sentAt + 10)].reduce((proof, event) => learn(proof, event), unproven)
      .provenAt;

  it('proves when it is sent at the time of W’s answer, as the sync of a heartbeat is', () => {
    expect(provenBy(6_010)).to.equal(1_000);
  });

  it('proves nothing when it was sent before', () => {
    expect(provenBy(6_009.9)).to.equal(0);
  });
});

describe('the session clock', () => {
  it('gives no time before a server has granted a session', () => {
    expect(deadlineOf(unproven)).to.equal(-Infinity);
    expect(deadlineOf(learn(unproven, granted(100)))).to.equal(-Infinity);
  });

  it('counts the ConnectRequest from its sent time on, as soon as a quorum write of its connection is answered', () => {
    expect(proven(granted(100), answered('read', 110), answered('sync', 120))).to.equal(-Infinity);
    expect(proven(granted(100), answered('write', 150, 9_000))).to.equal(100);
    expect(proven(granted(100), disconnected, answered('write', 150))).to.equal(-Infinity);
  });

  it('leaves a margin of a tenth of the timeout for the rates of clocks', () => {
    const proof = [granted(100), answered('write', 150)].reduce((before, event) => learn(before, event), unproven);
    expect(deadlineOf(proof)).to.equal(100 + 10_800);
  });

  it('counts a write from its sent time on, once a later write and a request after that are answered', () => {
    const chain = [granted(0), answered('write', 10, 20), answered('write', 5_000, 5_010)];
    expect(proven(...chain)).to.equal(0);
    expect(proven(...chain, answered('sync', 5_010, 5_020))).to.equal(10);
    expect(proven(...chain, answered('write', 5_011, 5_020))).to.equal(10);
  });

  it('learns nothing from any number of reads', () => {
    const reads = Array.from({ length: 100 }, (_, index) => answered('read', index * 100, index * 100 + 1));
    expect(proven(granted(0), answered('write', 10), ...reads)).to.equal(0);
  });

  it('takes no sync for the write that carries another one past a ping (ZOOKEEPER-1675)', () => {
    expect(
      proven(
        granted(0),
        answered('write', 10),
        answered('sync', 5_000),
        answered('sync', 5_010),
        answered('sync', 9_500),
      ),
    ).to.equal(0);
  });

  it('takes no write that was sent too early for a ping to have passed', () => {
    expect(
      proven(granted(0), answered('write', 10, 20), answered('write', 4_019, 4_030), answered('sync', 4_040)),
    ).to.equal(0);
    expect(
      proven(granted(0), answered('write', 10, 20), answered('write', 4_020, 4_030), answered('sync', 4_040)),
    ).to.equal(10);
  });

  it('takes no request for the last one that was sent before the write was answered', () => {
    expect(
      proven(granted(0), answered('write', 10, 20), answered('write', 5_000, 5_010), answered('sync', 5_009, 5_020)),
    ).to.equal(0);
  });

  it('never spans connections', () => {
    const first = [granted(0), answered('write', 10, 20)];
    expect(
      proven(...first, disconnected, granted(100), answered('write', 5_000, 5_010), answered('sync', 5_010)),
    ).to.equal(100);
    expect(
      proven(...first, answered('write', 5_000, 5_010), disconnected, granted(100), answered('sync', 5_010)),
    ).to.equal(0);
  });

  it('keeps the shortest timeout that was ever granted', () => {
    const proof = [granted(0, 4_000), granted(1_000, 10_000), answered('write', 1_100)].reduce(
      (before, event) => learn(before, event),
      unproven,
    );
    expect(deadlineOf(proof)).to.equal(1_000 + 3_600);
  });

  it('waits for a third of the timeout for a ping, or for the tick if that is known and shorter', () => {
    expect(relayMs(30_000, Infinity)).to.equal(10_000);
    expect(relayMs(30_000, 2_000)).to.equal(2_000);
    expect(relayMs(1_500, 2_000)).to.equal(500);
  });

  for (const [timeoutMs, leastMs] of [
    [30_000, 11_000],
    [4_000, 1_400],
  ] as const)
    it(`leaves ${leastMs} ms right before each renewal with a heartbeat every sixth of ${timeoutMs} ms, and answers that take 30 ms`, () => {
      let proof = learn(unproven, granted(0, timeoutMs));
      let sentAt = 5;
      for (let heartbeat = 0; heartbeat < 50; heartbeat += 1) {
        if (heartbeat > 0) expect(deadlineOf(proof) - sentAt).to.be.at.least(leastMs);
        proof = learn(proof, answered('write', sentAt, sentAt + 30));
        proof = learn(proof, answered('sync', sentAt + 30, sentAt + 60));
        sentAt += 30 + timeoutMs / 6;
      }
    });

  for (const tookMs of [7, 600])
    it(`stays equally fresh under a steady load of writes that take ${tookMs} ms, and stores only a few of them`, () => {
      let proof = learn(unproven, granted(0));
      for (let sentAt = 1; sentAt < 60_000; sentAt += 1) {
        proof = learn(proof, answered('write', sentAt, sentAt + tookMs));
        if (sentAt > 10_000) expect(sentAt - proof.provenAt).to.be.lessThan(4_000 + 3 * tookMs + 300);
      }
      expect(proof.written.length).to.be.lessThan(20);
    });

  it('never trusts more than the rule allows, word by word, for any history of answers', () => {
    const step = fc.record({
      kind: fc.constantFrom<Kind>('read', 'sync', 'write'),
      pauseMs: fc.nat(3_000),
      tookMs: fc.nat(2_000),
      cut: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let proof = learn(unproven, granted(0));
        let connection: Answer[] = [];
        let now = 0;
        let believed = -Infinity;
        let connectedAt = 0;
        for (const { kind, pauseMs, tookMs, cut } of steps) {
          if (cut === 0) {
            proof = learn(learn(proof, disconnected), granted(now));
            connection = [];
            connectedAt = now;
          }
          const answer = { kind, sentAt: now + pauseMs, answeredAt: now + pauseMs + tookMs };
          now = answer.answeredAt;
          connection.push(answer);
          proof = learn(proof, answered(kind, answer.sentAt, answer.answeredAt));
          believed = Math.max(believed, byTheRule(connection, connectedAt));
          expect(proof.provenAt).to.be.at.most(believed);
        }
      }),
      { numRuns: 2_000 },
    );
  });
});

interface Answer {
  readonly kind: Kind;
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** The newest r for which a W and a V exist, found by trying all. */
function byTheRule(answers: readonly Answer[], connectedAt: number): number {
  const writes = answers.filter(({ kind }) => kind === 'write');
  const known = writes.filter((r) =>
    writes.some(
      (w) => w.sentAt >= r.answeredAt + 4_000 && answers.some((v) => v.kind !== 'read' && v.sentAt >= w.answeredAt),
    ),
  );
  return Math.max(writes.length > 0 ? connectedAt : -Infinity, ...known.map(({ sentAt }) => sentAt));
}
