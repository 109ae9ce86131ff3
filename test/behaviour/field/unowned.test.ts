import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  LockTimeoutError,
  forceRelease,
  revoke,
  type Hold,
  type LockClient,
} from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection } from '../../../lab/until.ts';
import { InProcess } from '../operator/in-process.ts';
import { awaitedLater, createParents, keepsWarnings } from './support.ts';

const sessionTimeoutMs = 4_000;
const id = '_c_6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a-';

type Kind = readonly [
  kind: string,
  name: string,
  acquire: (client: LockClient, path: string) => Promise<Pick<Hold, 'release'>>,
];

const kinds: readonly Kind[] = [
  ['mutex', `${id}lock-0000000000`, (client, path) => new InterProcessMutex(client, path).acquire()],
  [
    'reader',
    `${id}__WRIT__0000000000`,
    (client, path) => new InterProcessReadWriteLock(client, path).readLock.acquire(),
  ],
  [
    'writer',
    `${id}__READ__0000000000`,
    (client, path) => new InterProcessReadWriteLock(client, path).writeLock.acquire(),
  ],
  [
    'weights',
    `${id}lock-+05x01-0000000000`,
    (client, path) => new InterProcessMutex(client, path, { weights: { overtakesPerWeight: 1 } }).acquire(),
  ],
  [
    'lease',
    `leases/${id}lease-0000000000`,
    (client, path) => new InterProcessSemaphore(client, path, { maxLeases: 1 }).acquire(),
  ],
];

describe('FIELD D: a participant’s znode that no session owns', () => {
  const lab = labOfEachTest('unowned', { server: 'own', proxy: true });
  const zklock = async (...words: string[]): Promise<InProcess & { readonly code: number }> => {
    const run = new InProcess(lab.connectString, words);
    return Object.assign(run, { code: await run.ended });
  };

  beforeEach(() => createParents(lab.client, lab.path));

  for (const [kind, name, acquire] of kinds)
    it(`${kind}: a waiter tells it once, by its znode, and is granted when somebody deletes it`, async () => {
      const kept = keepsWarnings();
      const client = await lab.connect({ sessionTimeoutMs, logger: kept.logger });
      const path = `${lab.path}/${name}`;
      if (kind === 'lease') await createParents(lab.client, `${lab.path}/leases`);
      await lab.observer.create(path);
      const waiting = awaitedLater(acquire(client, lab.path));
      const other = awaitedLater(acquire(client, lab.path));
      await lab.sleep(0.9 * sessionTimeoutMs);
      expect(kept.warnings).to.deep.equal([]);
      // Only a claim makes the holder of a lock with weights, so this znode is a waiter there.
      await lab.sleep((kind === 'weights' ? 14 : 4) * sessionTimeoutMs);
      expect(kept.warnings).to.deep.equal([
        `A lock is waited for that nobody can release: no session owns ${path}, so it never goes by itself. If no program needs it, delete it: zkCli.sh delete ${path}`,
      ]);
      await lab.observer.remove(path);
      await (await waiting).release();
      await (await other).release();
    });

  it('is told once, however often it is waited for', async () => {
    const kept = keepsWarnings();
    const client = await lab.connect({ sessionTimeoutMs, logger: kept.logger });
    await lab.observer.create(`${lab.path}/${id}lock-0000000000`);
    const mutex = new InterProcessMutex(client, lab.path);
    for (let wait = 0; wait < 3; wait += 1) await rejection(mutex.acquire({ timeoutMs: 1.5 * sessionTimeoutMs }));
    expect(kept.warnings).to.have.length(1);
  });

  it('is told as the reason of a timeout', async () => {
    const path = `${lab.path}/${id}lock-0000000000`;
    await lab.observer.create(path);
    const error = await rejection(new InterProcessMutex(lab.client, lab.path).acquire({ timeoutMs: 500 }));
    expect(error).to.be.instanceOf(LockTimeoutError).and.include({ reason: 'contention' });
    expect(error.message).to.contain(
      `the lock is held by the znode ${path}, which no session owns, so it never goes by itself. Delete that znode if no program needs it`,
    );
  });

  it('is shown by every verb with the same words, and none releases it', async () => {
    const path = `${lab.path}/${id}lock-0000000000`;
    await lab.observer.create(path);
    expect((await zklock('ls', lab.path)).out).to.match(/mutex +held +owned by no session +≤/);
    const { out } = await zklock('status', lab.path);
    expect(out)
      .to.contain('holder: owned by no session\n')
      .and.to.contain(
        `session  none, so it never goes by itself. If no program needs it, delete it: zkCli.sh delete ${path}\n`,
      );
    const { holders } = (await zklock('status', '--json', lab.path)).json as { holders: object[] };
    expect(holders[0]).to.include({ path, sessionId: null });
    const [participant] = await new InterProcessMutex(lab.client, lab.path).participants();
    expect(participant).to.include({ path, sessionId: '0x0' });
    for (const verb of ['release', 'revoke'])
      for (const meant of [lab.path, path]) {
        const { code, out: done, errors } = await zklock(verb, '--json', meant);
        expect(code).to.equal(70);
        expect(JSON.parse(done)).to.deep.equal({ path: meant, znode: path, done: 'nothing' });
        expect(errors).to.equal(
          `nothing to release: no session owns ${path}, so it never goes by itself. If no program needs it, delete it: zkCli.sh delete ${path}\n`,
        );
      }
    expect(await lab.observer.read(path)).to.equal('');
  });

  it('is named with the chroot, and quoted for a shell, where a command deletes it', async () => {
    const chroot = `${lab.path}/it's mine`;
    const path = `/orders/${id}lock-0000000000`;
    await createParents(lab.client, `${chroot}/orders`);
    await lab.observer.create(`${chroot}${path}`);
    const word = `'${lab.path}/it'\\''s mine${path}'`;
    const kept = keepsWarnings();
    const connectString = `${lab.connectString}${chroot}`;
    const client = await lab.connect({ sessionTimeoutMs, logger: kept.logger }, connectString);
    const waiting = rejection(new InterProcessMutex(client, '/orders').acquire({ timeoutMs: 1.5 * sessionTimeoutMs }));
    await lab.sleep(1.4 * sessionTimeoutMs);
    await waiting;
    expect(kept.warnings[0])
      .to.match(/: zkCli\.sh delete (.*)$/)
      .and.to.satisfy((text: string) => text.endsWith(word));
    for (const verb of ['status', 'release', 'revoke']) {
      const run = new InProcess(connectString, [verb, '/orders']);
      await run.ended;
      expect(run.out + run.errors).to.contain(`zkCli.sh delete ${word}\n`);
    }
  });

  for (const [call, take] of [
    ['revoke()', revoke],
    ['forceRelease()', forceRelease],
  ] as const)
    it(`${call} says that nobody owns the znode, and what removes it`, async () => {
      await lab.observer.create(`${lab.path}/${id}lock-0000000000`);
      const [participant] = await lab.mutex.participants();
      const { path } = participant ?? { path: '' };
      const { message } = await rejection(take(lab.client, path));
      expect(message).to.equal(
        `Invalid path "${path}": no session owns this znode, so no process can release it, and it never goes by itself. If no program needs it, delete it: zkCli.sh delete ${path}`,
      );
    });

  it('is shown beside the data that name its creator', async () => {
    const path = `${lab.path}/${id}lock-0000000000`;
    await lab.observer.create(path);
    await lab.observer.write(path, 'nightly');
    expect((await zklock('ls', lab.path)).out).to.match(/ nightly, owned by no session /);
  });

  it('is not a lock whose own znode has such a name', async () => {
    const path = `${lab.path}/db-lock-0000000001`;
    await using hold = await new InterProcessMutex(lab.other, path).acquire();
    const other = await zklock('release', lab.path);
    expect([other.code, other.out]).to.deep.equal([0, '']);
    expect((await zklock('status', path)).out).to.contain(hold.path);
  });
});
