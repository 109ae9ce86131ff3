import { expect } from 'chai';
import { newLife } from '../../src/zookeeper/session/life.ts';
import { beforeGrant } from '../../src/zookeeper/session/proof-schedule.ts';
import { step, type Fact, type Step } from '../../src/zookeeper/session/session-life.ts';

const timeoutMs = 12_000;

describe('the life of a session', () => {
  /** A session that was quiet when somebody wanted a grant. */
  const attaching: readonly [number, Fact][] = [
    [0, { is: 'granted', sentAt: 0, timeoutMs }],
    [0, { is: 'resumed' }],
    [0, { is: 'answered', kind: 'write', sentAt: 0, answeredAt: 0 }],
    [0, { is: 'beaten', isAnswered: true, epoch: 1, owedSince: undefined }],
    [50_000, { is: 'attach-wanted' }],
  ];
  const after = (...facts: readonly [number, Fact][]): Step => {
    const life = newLife({ tickTimeMs: undefined, connectBy: 10_000, hosts: 1, isResumed: false });
    const first: Step = { life, orders: [] };
    return [...attaching, ...facts].reduce((last, [now, fact]) => step(last.life, fact, now), first);
  };

  it('proves itself at once on the connection of an attach, also if nobody waits for that any more', () => {
    const { orders } = after([50_100, { is: 'granted', sentAt: 50_050, timeoutMs }], [50_100, { is: 'resumed' }]);
    expect(orders).to.deep.equal([{ do: 'prove', as: 'heartbeat' }]);
  });

  it('proves itself on the connection of an attach alone, if a waiter becomes next while that is dialled', () => {
    const needed: Fact = { is: 'needed', owedSince: undefined };
    const tick: Fact = { is: 'tick', hasZnodes: true, owedSince: undefined };
    expect(after([50_000, needed], [50_001, tick]).orders).to.deep.equal([]);
    expect(after([50_000, needed], [50_000 + timeoutMs / 24, tick]).orders).to.deep.equal([
      { do: 'prove', as: 'heartbeat' },
    ]);
  });

  it('proves itself on the connection of an attach alone, if that begins while a new connection is told', () => {
    const cut: readonly [number, Fact][] = [
      [50_100, { is: 'cut' }],
      [50_200, { is: 'granted', sentAt: 50_150, timeoutMs }],
    ];
    expect(after(...cut, [50_200, { is: 'attach-wanted' }], [50_200, { is: 'resumed' }]).orders).to.deep.equal([]);
  });

  it('begins its proof on the present connection if an attach takes long, also if no waiter is next', () => {
    const tick: Fact = { is: 'tick', hasZnodes: true, owedSince: undefined };
    expect(after([50_000 + timeoutMs / 24, tick]).orders).to.deep.equal([{ do: 'prove', as: 'heartbeat' }]);
  });

  it('goes on with its heartbeats for one timeout after an attach failed', () => {
    const beaten: Fact = { is: 'beaten', isAnswered: true, epoch: 1, owedSince: undefined };
    const { life } = after([50_100, { is: 'attach-failed' }], [50_101, beaten]);
    expect(life.state).to.deep.equal({ at: 'connected', pulseAt: 50_101 + timeoutMs / 6 });
  });

  it('counts no heartbeat whose answer was lost', () => {
    const beatAt = (isAnswered: boolean): number =>
      after([50_100, { is: 'attach-failed' }], [50_200, { is: 'beaten', isAnswered, epoch: 1, owedSince: undefined }])
        .life.beatAt;
    expect([true, false].map(beatAt)).to.deep.equal([50_200, 50_100]);
  });

  it('gives a silent server up after a quarter of the timeout while it closes, as while a lock is held', () => {
    const answered: Fact = { is: 'answered', kind: 'read', sentAt: 50_150, answeredAt: 50_200 };
    const { life } = after([50_200, answered], [50_200, { is: 'close' }], [50_200, { is: 'sent', owedSince: 50_200 }]);
    expect(life.wakeAt).to.equal(50_200 + timeoutMs / 4);
  });

  it('needs no other connection for one timeout after an attach failed, although its heartbeat is not answered', () => {
    const { life } = after([50_100, { is: 'attach-failed' }]);
    const need = (now: number): string => beforeGrant(life, life.proof, now);
    expect(need(50_100 + timeoutMs - 1)).to.equal('write');
    expect(need(50_100 + timeoutMs)).to.equal('attach');
  });
});
