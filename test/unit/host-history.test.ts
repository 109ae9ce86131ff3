import { expect } from 'chai';
import { HostHistory, roundDelayMs } from '../../src/zookeeper/connection/host-history.ts';
import { SaslRefusal } from '../../src/zookeeper/wire/sasl-handshake.ts';

/** The shortest pauses. */
const least = 0;

describe('the pause before a round over the servers', () => {
  /** The pauses before these rounds, which begin one after another at `now`. */
  const pauses = (history: HostHistory, rounds: number, now = 0): number[] =>
    Array.from({ length: rounds }, () => history.beginRound(now, least));

  it('is random, and at most a second', () => {
    expect([0, 1, 2, 5, 6, 1_000].map((round) => roundDelayMs(round, 0))).to.deep.equal([0, 25, 50, 400, 500, 500]);
    expect([0, 1, 2, 5, 6, 1_000].map((round) => roundDelayMs(round, 1))).to.deep.equal([
      0, 50, 100, 800, 1_000, 1_000,
    ]);
  });

  it('grows although servers grant the session, and begins anew once one has served it', () => {
    const history = new HostHistory(['a:1']);
    expect(pauses(history, 3)).to.deep.equal([0, 25, 50]);
    history.granted();
    expect(pauses(history, 1)).to.deep.equal([100]);
    history.served();
    expect(pauses(history, 3)).to.deep.equal([0, 25, 50]);
  });

  it('grows for a server that serves and ends every connection: 14 rounds in 5 seconds', () => {
    const history = new HostHistory(['a:1']);
    const begunAt: number[] = [];
    for (let now = 0, round = 0; round < 45; round += 1) {
      now += history.beginRound(now, least);
      begunAt.push(now);
      history.served();
    }
    const cycle = [0, 0, 25, 75, 175, 375, 775, 1_275, 1_775, 2_275, 2_775, 3_275, 3_775, 4_275, 4_775];
    expect(begunAt).to.deep.equal([0, 5_275, 10_550].flatMap((start) => cycle.map((at) => start + at)));
  });

  it('begins anew for a connection that is lost 5 seconds after the last one was', () => {
    const history = new HostHistory(['a:1']);
    const lost = (at: number): number[] => {
      history.served();
      return pauses(history, 1, at);
    };
    expect([0, 4_999, 5_000].map(lost)).to.deep.equal([[0], [25], [0]]);
  });
});

describe('the rounds in which an attempt ran out of time', () => {
  it('are counted when the next one begins, until a server grants the session', () => {
    const history = new HostHistory(['a:1', 'b:1'], 2);
    const begin = (): number => {
      history.beginRound(0, least);
      return history.unansweredRounds;
    };
    expect(begin()).to.equal(2);
    history.ranOut();
    history.ranOut();
    expect([begin(), begin()]).to.deep.equal([3, 3]);
    history.ranOut();
    history.granted();
    expect([history.unansweredRounds, begin()]).to.deep.equal([0, 0]);
  });
});

describe('a round over the servers without an answer', () => {
  it('is complete when each server was tried, and stays complete', () => {
    const history = new HostHistory(['a:1', 'b:1', 'c:1']);
    const seen = [false, false, false, false].map((wasAccepted) => {
      history.unanswered(wasAccepted);
      return history.areAllSilent;
    });
    expect(seen).to.deep.equal([false, false, true, true]);
  });

  it('is a refusal if one of the servers accepted the connection in the last round', () => {
    const history = new HostHistory(['a:1', 'b:1']);
    const seen = [true, false, false, true].map((wasAccepted) => {
      history.unanswered(wasAccepted);
      return history.isRefused;
    });
    expect(seen).to.deep.equal([false, true, false, true]);
  });

  it('starts again after an answer', () => {
    const history = new HostHistory(['a:1']);
    history.unanswered(true);
    history.granted();
    expect(history.areAllSilent).to.equal(false);
  });

  it('begins anew with a new list of servers', () => {
    const history = new HostHistory(['a:1', 'b:1']);
    history.unanswered(true);
    history.unanswered(true);
    history.follow(['b:1', 'c:1']);
    const seen = [true, true].map((wasAccepted) => {
      const before = history.areAllSilent;
      history.unanswered(wasAccepted);
      return before;
    });
    expect([...seen, history.areAllSilent]).to.deep.equal([false, false, true]);
  });
});

describe('the failures of the servers', () => {
  it('are the last one of each server, until a server serves the session', () => {
    const history = new HostHistory(['a:1', 'b:1']);
    for (const [name, error] of Object.entries({ 'a:1': 'old', 'b:1': 'other' })) history.failed(name, error);
    history.failed('a:1', 'new');
    history.granted();
    expect([...history.failures]).to.deep.equal([
      ['a:1', 'new'],
      ['b:1', 'other'],
    ]);
    history.served();
    expect(history.failures.size).to.equal(0);
  });

  it('name the last refusal of the account, and whether it is the first of its server', () => {
    const history = new HostHistory(['a:1', 'b:1']);
    const [required, credentials, last] = [
      new SaslRefusal('required'),
      new SaslRefusal('credentials'),
      new SaslRefusal('server'),
    ];
    const refuse = (name: string, why: SaslRefusal): boolean => history.refused(name, why, undefined);
    const areFirst = [refuse('a:1', required), refuse('b:1', credentials), refuse('a:1', last)];
    expect(areFirst).to.deep.equal([true, true, false]);
    expect(history.refusal).to.equal(last);
    history.failed('a:1', new Error('away'));
    expect(history.refusal).to.equal(credentials);
  });
});

describe('a server that refuses the account', () => {
  const name = 'zk:2181';
  const three = { '10.0.0.1': 4, '10.0.0.2': 4, '10.0.0.3': 4 };

  const dial = (history: HostHistory, addresses: Readonly<Record<string, number>>): void => {
    history.dial(
      name,
      Object.entries(addresses).map(([address, family]) => ({ address, family })),
    );
  };
  const refuse = (history: HostHistory, address: string): boolean =>
    history.refused(name, new SaslRefusal('required'), address);

  it('is one of those that its name stands for: all of them must refuse', () => {
    const history = new HostHistory([name]);
    const answers = Object.keys(three).map((address) => {
      dial(history, three);
      refuse(history, address);
      return history.haveAllRefused;
    });
    expect(answers).to.deep.equal([false, false, true]);
  });

  it('is one of those of the connect string: all of them must refuse', () => {
    const history = new HostHistory([name, 'other:2181']);
    dial(history, {});
    refuse(history, '10.0.0.1');
    expect(history.haveAllRefused).to.equal(false);
    history.refused('other:2181', new SaslRefusal('required'), '10.0.0.2');
    expect(history.haveAllRefused).to.equal(true);
    history.failed('other:2181', new Error('away'));
    expect(history.haveAllRefused).to.equal(false);
  });

  it('is all of them if its host was not looked up', () => {
    const history = new HostHistory([name]);
    dial(history, {});
    refuse(history, '10.0.0.1');
    expect(history.haveAllRefused).to.equal(true);
  });

  it('need not refuse on an address of a family that this machine cannot reach', () => {
    const history = new HostHistory([name]);
    dial(history, { '::1': 6, '127.0.0.1': 4 });
    refuse(history, '127.0.0.1');
    expect(history.haveAllRefused).to.equal(true);
  });

  it('counts for its own name, if another one was dialled since', () => {
    const history = new HostHistory([name, 'other:2181']);
    dial(history, { '10.0.0.1': 4 });
    history.dial('other:2181', [{ address: '10.0.0.2', family: 4 }]);
    refuse(history, '10.0.0.1');
    history.refused('other:2181', new SaslRefusal('required'), '10.0.0.2');
    expect(history.haveAllRefused).to.equal(true);
  });

  it('no longer counts when its name stands for others', () => {
    const history = new HostHistory([name]);
    dial(history, { '10.0.0.1': 4 });
    refuse(history, '10.0.0.1');
    dial(history, { '10.0.0.9': 4 });
    expect(history.haveAllRefused).to.equal(false);
  });

  it('no longer counts when its name has left the list, also if it comes back', () => {
    const history = new HostHistory([name]);
    dial(history, three);
    refuse(history, '10.0.0.1');
    refuse(history, '10.0.0.2');
    history.follow(['other:2181']);
    history.follow([name]);
    dial(history, three);
    refuse(history, '10.0.0.3');
    expect(history.haveAllRefused).to.equal(false);
  });

  it('no longer counts when a server has accepted the account', () => {
    const history = new HostHistory([name]);
    dial(history, three);
    for (const address of Object.keys(three)) refuse(history, address);
    history.served();
    refuse(history, '10.0.0.1');
    expect(history.haveAllRefused).to.equal(false);
  });
});
