import { ensureDebianZooKeeper } from './debian-zookeeper.ts';
import { findZooKeeper, type FoundZooKeeper } from './find-zookeeper.ts';

type State =
  { at: 'unused' } | { at: 'starting'; found: Promise<FoundZooKeeper> } | { at: 'ready'; found: FoundZooKeeper };

let state: State = { at: 'unused' };

/** The one ZooKeeper that the tests of a run share: started when first asked for, stopped after the last test. */
export async function sharedZooKeeper(): Promise<FoundZooKeeper> {
  if (state.at === 'unused') state = { at: 'starting', found: findZooKeeper() };
  const found = await state.found;
  state = { at: 'ready', found };
  return found;
}

/** Where it is, once `await sharedZooKeeper()` has settled in a before hook. */
export function sharedConnectString(): string {
  if (state.at !== 'ready') throw new Error('No shared ZooKeeper yet: call `await sharedZooKeeper()` in a before hook');
  return state.found.connectString;
}

/**
 * On a bare machine the packages are installed here, where no test's time runs. A failure is told to the tests that
 * need them.
 */
export async function mochaGlobalSetup(): Promise<void> {
  await ensureDebianZooKeeper().catch(() => undefined);
}

export async function mochaGlobalTeardown(): Promise<void> {
  failIfKeptAlive();
  if (state.at === 'unused') return;
  const found = await Promise.resolve(state.found).catch(() => undefined);
  await found?.stop();
}

/**
 * A test that leaves a socket or a timer behind would keep the run alive for ever; the run says so instead, and fails.
 */
function failIfKeptAlive(): void {
  setTimeout(() => {
    console.error(`Something keeps the process alive: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit(1);
  }, 15_000).unref();
}
