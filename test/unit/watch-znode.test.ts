import { expect } from 'chai';
import { SessionWatches, watchZnode } from '../../src/zookeeper/session/watches.ts';
import type { Operation } from '../../src/zookeeper/wire/operations.ts';
import { Reader } from '../../src/zookeeper/wire/wire.ts';
import { ZooKeeperError } from '../../src/zookeeper/wire/zookeeper-error.ts';

const path = '/a';
/** As a session does, which reads the answer before the rest of the chunk. */
const answering =
  (question: Operation<unknown>, resolve: (znode: never) => void) =>
  (znode: unknown): void => {
    if (znode !== undefined) question.read(new Reader(Buffer.alloc(100)));
    resolve(znode as never);
  };
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
      find: (question) =>
        new Promise((resolve, reject) => (answer = { resolve: answering(question, resolve), reject })),
      request: ({ name }) => new Promise(() => said.push(name)),
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

  it('tells no event after it was stopped, and removes the watch that the read has left', async () => {
    watches.fired(path, 'deleted');
    stop();
    answer.resolve('content');
    await settled();
    expect(said).to.deep.equal(['removeWatches', 'content']);
  });

  it('tells a later event at once', async () => {
    answer.resolve('content');
    await settled();
    watches.fired(path, 'changed');
    expect(said).to.deep.equal(['content', 'changed']);
  });
});
