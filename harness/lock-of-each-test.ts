import { InterProcessMutex, LockClient, type Hold } from '../../../src/index.ts';
import { sharedZooKeeper } from '../../support/hooks.ts';
import { stranger, type Stranger } from '../../support/stranger.ts';
import { testPath } from '../../support/test-path.ts';
import { aborted, until } from '../../support/until.ts';

/** One lock: our instance of it, one of another client, and the view from outside. */
export interface LockOfTest {
  readonly client: LockClient;
  readonly mutex: InterProcessMutex;
  readonly theirs: InterProcessMutex;
  readonly outside: Stranger;
}

/** Each test of the suite finds a fresh lock in the object that this returns, and clients of its own, which are closed after it. */
export function lockOfEachTest(name: string): LockOfTest {
  const lock = {} as { -readonly [Key in keyof LockOfTest]: LockOfTest[Key] };
  let other: LockClient;

  // The server may have to be started first.
  before(() => sharedZooKeeper());

  beforeEach(async () => {
    const { connectString } = await sharedZooKeeper();
    const path = testPath(name);
    [lock.client, other, lock.outside] = await Promise.all([
      LockClient.connect(connectString),
      LockClient.connect(connectString),
      stranger(connectString),
    ]);
    lock.mutex = new InterProcessMutex(lock.client, path);
    lock.theirs = new InterProcessMutex(other, path);
  });

  afterEach(() => Promise.all([lock.client.close(), other.close(), lock.outside[Symbol.asyncDispose]()]));

  return lock;
}

/** The znodes in the queue, the holder's first. */
export async function queueOf(mutex: InterProcessMutex): Promise<string[]> {
  return (await mutex.participants()).map(({ path }) => path);
}

export function queueReaches(mutex: InterProcessMutex, length: number): Promise<void> {
  return until(`${length} are in the queue of ${mutex.path}`, async () => (await queueOf(mutex)).length === length);
}

/** Somebody deletes a hold's znode. Resolves when the holder has been told. */
export async function takeAway(hold: Hold, outside: Stranger): Promise<void> {
  const told = aborted(hold.signal);
  await outside.remove(hold.path);
  await told;
}

/** `opened` waits until `open` is called. */
export function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
