import { expect } from 'chai';
import { SessionWatches, watchZnode } from '../../src/zookeeper/session/watches.ts';
import { ZooKeeperError } from '../../src/zookeeper/wire/zookeeper-error.ts';

const path = '/a';
const lostError = new ZooKeeperError(ZooKeeperError.connectionLoss, 'getData', path);

describe('the watch of a znode whose event arrives in one chunk with the answer', () => {
  let answer: { resolve(znode: unknown): void; reject(error: unknown): void };
  let said: unknown[];
  let watches: SessionWatches;
  let stop: () => void;

  beforeEach(() => {
    said = [];
    watches = new SessionWatches({
      isConnected: true,
      find: () => new Promise((resolve, reject) => (answer = { resolve, reject })),
      request: () => expect.fail('a request was sent'),
    });
    stop = watchZnode({ watches }, path, 'data', {
      found: (znode) => said.push(znode),
      told: (event) => said.push(event),
      lost: () => said.push('lost'),
      failed: (error) => said.push(error),
    });
  });

  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  it('tells the content, and then the event', async () => {
    answer.resolve('content');
    watches.fired(path, 'deleted');
    await settled();
    expect(said).to.deep.equal(['content', 'deleted']);
  });

  it('tells the event also if the answer is lost', async () => {
    watches.fired(path, 'deleted');
    answer.reject(lostError);
    await settled();
    expect(said).to.deep.equal(['lost', 'deleted']);
  });

  it('tells a deletion once', async () => {
    watches.fired(path, 'deleted');
    answer.resolve(undefined);
    await settled();
    expect(said).to.deep.equal(['deleted']);
  });

  it('tells no event after it was stopped', async () => {
    watches.fired(path, 'deleted');
    stop();
    answer.resolve('content');
    await settled();
    expect(said).to.deep.equal(['content']);
  });

  it('tells a later event at once', async () => {
    answer.resolve('content');
    await settled();
    watches.fired(path, 'changed');
    expect(said).to.deep.equal(['content', 'changed']);
  });
});
