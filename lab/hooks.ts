import { relative } from 'node:path';
import type { MachineOfTests } from './virtual/bridge.ts';
import type { VirtualChance } from './virtual/chance.ts';
import { now, virtualMachine } from './world.ts';
import { systemClock } from '../src/support/clock.ts';
import { CountedClock } from './counted-clock.ts';
import { phases } from './virtual/agenda.ts';
import './servers/over-tls.ts';
import type { Context, Runner, Suite } from 'mocha';
import { ensureServerJars } from './servers/server-jars.ts';
import { VirtualZooKeeper } from './servers/virtual/virtual-zookeeper.ts';
import { findZooKeeper, type FoundZooKeeper } from './servers/find-zookeeper.ts';

/** In real time. A test's own limit is in virtual time. */
const realLimitMs = 5 * 60_000;
/** Each test begins at a multiple of this, so that it meets the ticks of its servers at the same time in every run. */
const startMs = 1_000;

export const mochaHooks = virtualMachine && hooksOn(virtualMachine);

function hooksOn({ time, chance }: MachineOfTests): Mocha.RootHookObject {
  let endLimit = (): void => undefined;
  const clock = new CountedClock();
  systemClock.after = clock.after;
  return {
    async beforeEach(this: Context): Promise<void> {
      const { currentTest } = this;
      const limitMs = currentTest?.timeout() ?? 0;
      clock.during = currentTest?.fullTitle() ?? '';
      chance.begin(clock.during);
      // Mocha counts real time, and a busy machine has no part in a test on virtual time.
      currentTest?.timeout(realLimitMs);
      // Not by a timer, which counts whole milliseconds.
      await new Promise<void>((resolve) => time.add(startMs - (now() % startMs), phases.timer, resolve));
      endLimit = time.limit(limitMs, () =>
        currentTest?.callback?.(
          new Error(`Nothing more happens within ${limitMs} virtual ms, and the test still waits`),
        ),
      );
    },
    afterEach(): void {
      endLimit();
    },
    // A client that a timer outlives would keep a real process.
    afterAll: () => clock.expectNoTimer(),
  };
}

type State =
  { at: 'unused' } | { at: 'starting'; found: Promise<FoundZooKeeper> } | { at: 'ready'; found: FoundZooKeeper };

let state: State = { at: 'unused' };

/** The ZooKeeper that the tests of a run share: started on the first call, stopped after the last test. */
export async function sharedZooKeeper(): Promise<FoundZooKeeper> {
  if (state.at === 'unused') state = { at: 'starting', found: realOrVirtual() };
  const found = await state.found;
  state = { at: 'ready', found };
  return found;
}

async function realOrVirtual(): Promise<FoundZooKeeper> {
  if (!virtualMachine) return findZooKeeper();
  const server = await VirtualZooKeeper.start(virtualMachine);
  return {
    connectString: server.connectString,
    how: 'a virtual server',
    stop: () => server.stop(),
  };
}

/** Its connect string, once `await sharedZooKeeper()` has settled in a before hook. */
export function sharedConnectString(): string {
  if (state.at !== 'ready') throw new Error('No shared ZooKeeper yet: call `await sharedZooKeeper()` in a before hook');
  return state.found.connectString;
}

/** Installs what the tests need of a bare machine here, outside of their timeouts. */
export async function mochaGlobalSetup(this: Runner): Promise<void> {
  const { suites } = this.suite;
  if (virtualMachine) beginAtHooks(this, virtualMachine.chance);
  if (!virtualMachine && suites.some(({ file }) => !isPure(file))) await ensureServerJars();
  if (!suites.some(({ title }) => title.endsWith(browserSuite))) return;
  // Loaded only here: the other suites need no browser.
  const { ensureChromium } = await import('./programs/chromium.ts');
  await ensureChromium();
}

/** Hooks around a suite have the same title if they are of the same kind, so their order counts. */
function beginAtHooks(runner: Runner, chance: VirtualChance): void {
  const begun = new WeakMap<Suite, number>();
  runner.on('hook', (hook) => {
    const { parent, title, file = '' } = hook;
    if (parent === undefined || !/^"(before|after) all"/.test(title)) return;
    const count = (begun.get(parent) ?? 0) + 1;
    begun.set(parent, count);
    chance.begin(`${relative('', file)} ${hook.fullTitle()} ${count}`);
  });
}

/** True for a file of tests that start no real server. */
function isPure(file = ''): boolean {
  return /[/\\]test[/\\](unit|properties|lab|demo|chaos|simulation)[/\\]/.test(file);
}

/** The end of the titles of the suites that need a browser. */
const browserSuite = 'in a browser';

export async function mochaGlobalTeardown(): Promise<void> {
  if (!virtualMachine) failIfKeptAlive();
  if (state.at !== 'unused') {
    const found = await Promise.resolve(state.found).catch(() => undefined);
    await found?.stop();
  }
  virtualMachine?.time.stop();
}

/**
 * A test that leaves a socket or a timer open would keep the run alive without a limit: the run fails with a message
 * instead.
 */
function failIfKeptAlive(): void {
  setTimeout(() => {
    console.error(`Something keeps the process alive: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit(1);
  }, 15_000).unref();
}
