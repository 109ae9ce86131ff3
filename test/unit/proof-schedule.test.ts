import { expect } from 'chai';
import {
  beforeGrant,
  firstBeatAt,
  isActive,
  pulseAfter,
  unneeded,
} from '../../src/zookeeper/session/proof-schedule.ts';
import { learn, unproven, type SessionProof } from '../../src/zookeeper/session/session-clock.ts';

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
    expect(isActive(unneeded, 0, timeoutMs)).to.equal(false);
    expect(isActive({ ...unneeded, needs: 1 }, 1e9, timeoutMs)).to.equal(true);
    const free = { ...unneeded, neededAt: 2_000 };
    expect(isActive(free, 2_000 + timeoutMs - 1, timeoutMs)).to.equal(true);
    expect(isActive(free, 2_000 + timeoutMs, timeoutMs)).to.equal(false);
  });

  it('has a heartbeat each sixth of the timeout, and a pulse each third while the session is quiet', () => {
    expect(pulseAfter(unneeded, 100, timeoutMs)).to.equal(100 + 4_000);
    expect(pulseAfter({ ...unneeded, needs: 1 }, 100, timeoutMs)).to.equal(100 + 2_000);
  });

  it('begins with a heartbeat at once, or a sixth of the timeout after the last one', () => {
    expect(firstBeatAt(unneeded, 50_000, timeoutMs)).to.equal(50_000);
    expect(firstBeatAt({ ...unneeded, beatAt: 49_000 }, 50_000, timeoutMs)).to.equal(51_000);
  });

  it('needs half of the timeout before a grant, or else a new connection, while no heartbeats are sent', () => {
    expect(beforeGrant(unneeded, proof, 4_800)).to.equal('nothing');
    expect(beforeGrant(unneeded, proof, 4_801)).to.equal('attach');
    expect(beforeGrant(unneeded, proof, 1e9)).to.equal('attach');
  });

  it('needs a quarter of the timeout before a grant while heartbeats are sent', () => {
    const schedule = { ...unneeded, beatAt: 7_000 };
    expect(beforeGrant(schedule, proof, 7_800)).to.equal('nothing');
    expect(beforeGrant(schedule, proof, 7_801)).to.equal('attach');
    // A heartbeat that is late by a twenty-fourth of the timeout counts as missing.
    const late = { ...unneeded, beatAt: 4_000 };
    expect(beforeGrant(late, proof, 4_000 + 2_000 + 499)).to.equal('nothing');
    expect(beforeGrant(late, proof, 4_000 + 2_000 + 500)).to.equal('attach');
  });

  it('needs no new connection if the next answer gives the proof', () => {
    const relayed: SessionProof = { ...proof, relayed: { sentAt: 4_000, at: 8_000 } };
    const schedule = { ...unneeded, beatAt: 8_000 };
    expect(beforeGrant(schedule, relayed, 8_000)).to.equal('write');
    // The proof is too old for that, as after a server that answered nothing for a while.
    expect(beforeGrant(schedule, { ...relayed, relayed: { sentAt: 100, at: 8_000 } }, 8_000)).to.equal('attach');
  });

  it('needs only a write before a grant on a connection that was made just now', () => {
    const connected = learn(learn(proof, { is: 'disconnected' }), { is: 'granted', sentAt: 50_000, timeoutMs });
    expect(beforeGrant(unneeded, connected, 50_100)).to.equal('write');
    expect(beforeGrant(unneeded, connected, 54_801)).to.equal('attach');
  });

  it('needs a write where it would need a new connection, for a while after an attach has failed', () => {
    const failed = { ...unneeded, noAttachUntil: 20_000 };
    expect(beforeGrant(failed, proof, 19_999)).to.equal('write');
    expect(beforeGrant(failed, proof, 20_000)).to.equal('attach');
  });
});
