import { expect } from 'chai';
import { ProofSchedule, silentAt } from '../../src/zookeeper/proof-schedule.ts';
import { learn, unproven, type SessionProof } from '../../src/zookeeper/session-clock.ts';

const timeoutMs = 12_000;

/** A session that connected at 0, and whose deadline is 10,800. */
const proof: SessionProof = learn(learn(unproven, { is: 'granted', sentAt: 0, timeoutMs }), {
  is: 'answered',
  kind: 'write',
  sentAt: 0,
  answeredAt: 0,
});

describe('the schedule of the proofs', () => {
  it('has heartbeats while a lock is held or may be granted next, and for one timeout afterwards', () => {
    const schedule = new ProofSchedule();
    expect(schedule.isActive(0, timeoutMs)).to.equal(false);
    schedule.need();
    schedule.need();
    expect(schedule.isActive(1e9, timeoutMs)).to.equal(true);
    schedule.needNoMore(1_000);
    expect(schedule.isActive(1e9, timeoutMs)).to.equal(true);
    schedule.needNoMore(2_000);
    expect(schedule.isActive(2_000 + timeoutMs - 1, timeoutMs)).to.equal(true);
    expect(schedule.isActive(2_000 + timeoutMs, timeoutMs)).to.equal(false);
  });

  it('has a heartbeat each sixth of the timeout, and a pulse each third while the session is quiet', () => {
    const schedule = new ProofSchedule();
    expect(schedule.pulseAfter(100, timeoutMs)).to.equal(100 + 4_000);
    schedule.need();
    expect(schedule.pulseAfter(100, timeoutMs)).to.equal(100 + 2_000);
  });

  it('begins with a heartbeat at once, or a sixth of the timeout after the last one', () => {
    const schedule = new ProofSchedule();
    expect(schedule.firstBeatAt(50_000, timeoutMs)).to.equal(50_000);
    schedule.beat(49_000);
    expect(schedule.firstBeatAt(50_000, timeoutMs)).to.equal(51_000);
  });

  it('needs half of the timeout before a grant, or else a new connection, while no heartbeats are sent', () => {
    const schedule = new ProofSchedule();
    expect(schedule.beforeGrant(proof, 4_800)).to.equal('nothing');
    expect(schedule.beforeGrant(proof, 4_801)).to.equal('attach');
    expect(schedule.beforeGrant(proof, 1e9)).to.equal('attach');
  });

  it('needs a quarter of the timeout before a grant, or else a write, while heartbeats are sent', () => {
    const schedule = new ProofSchedule();
    schedule.beat(7_000);
    expect(schedule.beforeGrant(proof, 7_800)).to.equal('nothing');
    expect(schedule.beforeGrant(proof, 7_801)).to.equal('write');
    // A heartbeat that is late by a twenty-fourth of the timeout counts as missing.
    expect(schedule.beforeGrant(proof, 7_000 + 2_000 + 499)).to.equal('write');
    expect(schedule.beforeGrant(proof, 7_000 + 2_000 + 500)).to.equal('attach');
  });

  it('needs only a write before a grant on a connection that was made just now', () => {
    const connected = learn(learn(proof, { is: 'disconnected' }), { is: 'granted', sentAt: 50_000, timeoutMs });
    const schedule = new ProofSchedule();
    expect(schedule.beforeGrant(connected, 50_100)).to.equal('write');
    expect(schedule.beforeGrant(connected, 54_801)).to.equal('attach');
  });
});

describe('a connection is given up', () => {
  const answeredSentAt = 1_000;

  it('a quarter of the timeout after an unanswered request was sent, while a lock is held', () => {
    expect(silentAt({ unansweredSince: 5_000, answeredSentAt, isUrgent: true }, timeoutMs)).to.equal(8_000);
  });

  it('two thirds of the timeout after the newest answered request was sent, otherwise', () => {
    expect(silentAt({ unansweredSince: 5_000, answeredSentAt, isUrgent: false }, timeoutMs)).to.equal(9_000);
  });

  it('two thirds of the timeout after the oldest request, also if pings are answered meanwhile', () => {
    expect(silentAt({ unansweredSince: 5_000, answeredSentAt: 12_000, isUrgent: false }, timeoutMs)).to.equal(13_000);
  });

  it('not before a request that was sent late has been unanswered for a sixth of the timeout', () => {
    expect(silentAt({ unansweredSince: 30_000, answeredSentAt, isUrgent: false }, timeoutMs)).to.equal(32_000);
  });
});
