import { expect } from 'chai';
import { InterProcessReadWriteLock, type ConnectionState, type Hold, type LockClient } from '../../src/index.ts';
import { sent } from '../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { until } from '../../lab/until.ts';

const sessions = 10;
const readersPerSession = 100;

describe(`${sessions * readersPerSession} readers in ${sessions} sessions`, () => {
  const lab = labOfEachTest('readers', { server: 'own', proxy: true, client: 'none' });
  let clients: LockClient[];
  let states: ConnectionState[];

  beforeEach(() => void (states = []));

  const connect = async (sessionTimeoutMs: number): Promise<void> => {
    clients = await Promise.all(Array.from({ length: sessions }, () => lab.connect({ sessionTimeoutMs })));
    for (const client of clients) client.on('state', (state) => states.push(state));
  };

  const locks = async (count: number): Promise<InterProcessReadWriteLock[]> => {
    const others = Array.from({ length: count }, () => lab.connect({ sessionTimeoutMs: 10_000 }, lab.connectString));
    return (await Promise.all(others)).map((client) => new InterProcessReadWriteLock(client, lab.path));
  };
  const read = (): Promise<Hold>[] =>
    clients.flatMap((client) => {
      const { readLock } = new InterProcessReadWriteLock(client, lab.path);
      return Array.from({ length: readersPerSession }, () => readLock.acquire());
    });
  const provenAgain = (): Promise<void> => {
    const deadlines = clients.map(({ session }) => session.deadline);
    return until('each session is proven again', () =>
      clients.every(({ session }, index) => session.deadline > (deadlines[index] ?? Infinity)),
    );
  };
  /** All readers hold the lock, no session was lost, and each is proven again before its deadline. */
  const allHold = async (reading: readonly Promise<Hold>[]): Promise<void> => {
    const holds = await Promise.all(reading);
    await provenAgain();
    expect(holds.filter(({ isValid }) => !isValid)).to.deep.equal([]);
    expect(states).to.deep.equal([]);
    expect(new Set(await Promise.all(holds.map((hold) => hold.release())))).to.deep.equal(new Set(['released']));
  };
  const connects = (): number => lab.proxy.frames.filter(sent('connect')).length;

  it('are let in at once by the writer that they wait for, and no session attaches anew', async () => {
    await connect(8_000);
    const [writer] = await locks(1);
    const held = await writer?.writeLock.acquire();
    const reading = read();
    await lab.queueReaches(1 + reading.length);
    await provenAgain();
    const before = connects();
    await held?.release();
    await allHold(reading);
    expect(connects()).to.equal(before);
  });

  it('are let in at once by the second of two writers, and each session attaches anew once', async () => {
    await connect(8_000);
    const [first, second] = await locks(2);
    const held = await first?.writeLock.acquire();
    const writing = second?.writeLock.acquire();
    await lab.queueReaches(2);
    const reading = read();
    await lab.queueReaches(2 + reading.length);
    await until('all sessions are quiet', () => clients.every(({ session }) => session.isStale));
    const before = connects();
    await held?.release();
    await (await writing)?.release();
    await allHold(reading);
    expect(connects()).to.equal(before + sessions);
  });
});
