import { expect } from 'chai';
import { getData } from '../../src/zookeeper/wire/operations.ts';
import { Pipeline, type PipelineListener } from '../../src/zookeeper/connection/pipeline.ts';
import { Call } from '../../src/zookeeper/wire/replies.ts';
import { ServerLink } from '../../src/zookeeper/connection/server-link.ts';
import { ServerTraits } from '../../src/zookeeper/connection/server-traits.ts';
import { FakeLink } from '../../lab/wire/fake-link.ts';
import { ManualClock } from '../../lab/manual-clock.ts';

/** The first window of a connection. */
const inFlight = 128;

describe('the requests of one connection', () => {
  const clock = new ManualClock();
  let socket: FakeLink;
  beforeEach(() => (socket = new FakeLink()));
  let answered = (): void => undefined;

  it('a request that is made while answers are read is sent behind those that wait for room', () => {
    const order: string[] = [];
    const pipeline = pipelineOf(order);
    const send = (path: string): void =>
      pipeline.send(new Call({ ...getData(path, false), beforeWrite: () => order.push(path) }, ignore, ignore));
    for (let index = 0; index <= inFlight; index += 1) send(`/${index}`);
    expect(order).to.have.length(inFlight);
    answered = () => {
      answered = () => undefined;
      send('/later');
    };
    socket.emit('data', Buffer.concat([noNode(1), noNode(2)]));
    expect(order.slice(inFlight)).to.deep.equal([`/${inFlight}`, '/later']);
  });

  it('a request that is suspected to end connections is sent when the server has answered the ping before it', () => {
    const order: string[] = [];
    const traits = new ServerTraits(() => 0);
    for (const _ of [1, 2]) traits.endedAt([{ name: 'getData', bytes: 0 }], '127.0.0.1:2181');
    const pipeline = pipelineOf(order, traits);
    pipeline.ping();
    pipeline.send(new Call({ ...getData('/', false), beforeWrite: () => order.push('/') }, ignore, ignore));
    expect(order).to.deep.equal([]);
    socket.emit('data', noNode(-2));
    expect(order).to.deep.equal(['/']);
  });

  function pipelineOf(order: string[], traits = new ServerTraits(() => 0)): Pipeline {
    const user = { failure: '', receive: ignore, chunkEnded: ignore, drained: ignore, ended: ignore };
    const link = new ServerLink(socket, { host: '127.0.0.1', port: 2181 }, user, (_, error) =>
      order.push(String(error)),
    );
    let xid = 0;
    return new Pipeline(
      link,
      {
        clock,
        random: () => 0,
        traits,
        chroot: '',
        timeoutMs: () => 30_000,
        nextXid: () => (xid += 1),
      },
      { ...listener, answered: () => answered() },
    );
  }
});

const listener: PipelineListener = {
  heard: ignore,
  answered: ignore,
  pinged: ignore,
  watchFired: ignore,
  refused: ignore,
  chunkRead: ignore,
  roomMade: ignore,
  ended: ignore,
};

/** The answer NO_NODE to a request. */
function noNode(xid: number): Buffer {
  const frame = Buffer.alloc(20);
  frame.writeInt32BE(16, 0);
  frame.writeInt32BE(xid, 4);
  frame.writeInt32BE(-101, 16);
  return frame;
}

function ignore(): void {
  // The test looks at the order of the requests alone.
}
