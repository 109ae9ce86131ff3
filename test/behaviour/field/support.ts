import { expect } from 'chai';
import { InterProcessMutex, type ConnectionState, type LockClient, type Logger } from '../../../src/index.ts';
import type { Lab } from '../../../lab/lab.ts';
import type { ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { sleep } from '../../../lab/world.ts';

/** The states that the client shows from now on. */
export function statesOf(client: LockClient): ConnectionState[] {
  const states: ConnectionState[] = [];
  client.on('state', (state) => states.push(state));
  return states;
}

/** Creates the parents of the lock, so that an acquire needs no request for them. */
export async function createParents(client: LockClient, path: string): Promise<void> {
  await (await new InterProcessMutex(client, path).acquire()).release();
}

/** Creates the parents before each test; the function returned expects that the client has kept its connection since. */
export function sameConnectionOfEachTest(lab: Lab): () => void {
  let states: ConnectionState[];
  let dials: number;
  beforeEach(async () => {
    await createParents(lab.client, lab.path);
    states = statesOf(lab.client);
    ({ dials } = lab.proxy);
  });
  return () => {
    expect(states).to.deep.equal([]);
    expect(lab.proxy.dials).to.equal(dials);
  };
}

/** Waits until a client that holds nothing has no proof any more: its next acquire needs a new one. */
export function becomeQuiet(sessionTimeoutMs: number): Promise<void> {
  return sleep(3 * sessionTimeoutMs);
}

/** The ids of the sessions on the server. */
export async function sessionsOn({ server }: Pick<Lab, 'server'>): Promise<Set<string>> {
  const [sets = ''] = (await server.command('dump')).split('ephemeral nodes dump');
  return new Set([...sets.matchAll(/^\t(0x[0-9a-f]+)$/gm)].map(([, id = '']) => id));
}

/** The dials during the next minute. */
export async function dialsInAMinute(proxy: ZkProxy): Promise<number> {
  const before = proxy.dials;
  await sleep(60_000);
  return proxy.dials - before;
}

export const mostDialsInAMinute = 10;

/** A logger that keeps the warnings. */
export function keepsWarnings(): { readonly warnings: string[]; readonly logger: Logger } {
  const warnings: string[] = [];
  const ignore = (): void => undefined;
  const warn: Logger['warn'] = (_details, message) => void warnings.push(message);
  return { warnings, logger: { warn, info: ignore, error: ignore, debug: ignore } };
}

/** A promise that the test awaits later: until then, and if the test fails before, its rejection is nobody's alarm. */
export function awaitedLater<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

/** The ephemeral znodes on the server for a lock, or for one whose path differs in one character. */
export async function leftOn({ server }: Pick<Lab, 'server'>, path: string): Promise<string[]> {
  const dump = await server.command('dump');
  const [, name = ''] = /([^/]+)$/.exec(path) ?? [];
  return dump.split('\n').filter((line) => line.includes(name.slice(0, -1)) && line.includes('_c_'));
}

/** True if the lock can be had. A name that was changed is at first a foreign one, which an acquire refuses. */
export async function isFree(lock: InterProcessMutex, timeoutMs: number): Promise<boolean> {
  return lock.withLock(() => true, { timeoutMs }).catch(() => false);
}
