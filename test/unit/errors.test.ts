import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import {
  ConnectionTimeoutError,
  ForeignNodeError,
  LockError,
  LockTimeoutError,
  OutcomeUnknownError,
} from '../../src/index.ts';

describe('an error', () => {
  it('is a LockError by its brand, even if another copy of the package created it', () => {
    const theirs = Object.assign(new Error('theirs'), { [Symbol.for('zookeeper-fair-lock/error')]: true });
    expect(theirs).to.be.instanceOf(LockError);
    expect(new LockTimeoutError('/a', 1)).to.be.instanceOf(LockError).and.to.have.property('name', 'LockTimeoutError');
    for (const other of [new Error('other'), null, undefined, 'text'])
      expect(other instanceof LockError).to.equal(false);
    expect(theirs).not.to.be.instanceOf(LockTimeoutError);
  });

  it('of foreign children names the first five, and the number of the others', () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    expect(new ForeignNodeError('/locks', names.slice(0, 5)).message).to.contain('create: a, b, c, d, e. They may be');
    const error = new ForeignNodeError('/locks', names);
    expect(error.message).to.contain('create: a, b, c, d, e and 2 more. They may be');
    expect(error.foreign).to.deep.equal(names);
  });

  it('of an unknown outcome names the first three paths to read, and the number of the others', () => {
    const unknown = (...paths: string[]): string =>
      new OutcomeUnknownError('/locks/a/1', paths, new Error('lost')).message.split('and read ')[1] ?? '';
    expect(unknown('/a', '/b', '/c')).to.match(/^\/a, \/b, \/c after a sync/);
    expect(unknown('/a', '/b', '/c', '/d', '/e')).to.match(/^\/a, \/b, \/c and 2 more after a sync/);
    expect(unknown()).to.match(/^what the transaction changes after a sync/);
  });

  describe('of a connection that took too long', () => {
    const last = (cause: unknown): string =>
      new ConnectionTimeoutError('zk1:2181', 400, cause).message.split('; last: ')[1]?.split('. Check')[0] ?? '';

    it('reports that no host answered if no attempt failed', () => {
      expect(last(undefined)).to.equal('none of them answered');
    });

    it('ends the last error with one punctuation mark', () => {
      const { message } = new ConnectionTimeoutError('zk1:2181', 400, new Error('Is this the clientPort?'));
      expect(message).to.contain('; last: Is this the clientPort? Check that ZooKeeper runs there');
    });

    it('names the option if it allowed only a short time', () => {
      const { message } = new ConnectionTimeoutError('zk1:2181', 5, undefined);
      expect(message).to.contain(
        'last: none of them answered. The option connectionTimeoutMs allowed only 5 ms; its default is 15000. Check that',
      );
    });

    it("contains the last socket's error", () => {
      expect(last(new Error('connect ECONNREFUSED 127.0.0.1:1'))).to.equal('connect ECONNREFUSED 127.0.0.1:1');
      expect(last('nothing but a text')).to.equal('nothing but a text');
    });

    it('says so if the error has no text', () => {
      const throwing = (property: string): Error =>
        Object.defineProperty(new Error(''), property, {
          get: () => {
            throw new Error(`no ${property}`);
          },
        });
      for (const error of [
        Object.create(null),
        throwing('message'),
        throwing('name'),
        Object.assign(new Error(), { message: Object.create(null) as unknown }),
        new AggregateError([Object.create(null)]),
      ])
        expect(last(error)).to.equal('something that cannot be shown');
    });

    it('contains the error of each address of a name whose own error has no text', () => {
      const both = new AggregateError([
        new Error('connect ECONNREFUSED ::1:1'),
        new Error('connect ECONNREFUSED 127.0.0.1:1'),
      ]);
      expect(last(both)).to.equal('connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1');
      expect(last(new AggregateError([], 'no address'))).to.equal('no address');
    });

    it('says once what several addresses of a name have in common', () => {
      const reset = (): Error => new Error('read ECONNRESET');
      expect(last(new AggregateError([reset(), reset()]))).to.equal('read ECONNRESET');
      class RoundError extends AggregateError {
        override readonly name = 'RoundError';
      }
      expect(last(new RoundError([reset()]))).to.equal('read ECONNRESET');
      // Under Jest, the errors of Node are of another realm.
      expect(last(runInNewContext("new AggregateError([new Error('read ECONNRESET')])"))).to.equal('read ECONNRESET');
    });
  });
});
