/** @module @zookeeper-fair-lock/guards/redis */

import { randomBytes } from 'node:crypto';
import type { Fence, FencedHold, FencedOptions } from './fence.js';
import { attemptOnce, runFenced, type Job, type Store, type Transaction } from './fenced.js';
import { GuardError, StaleTokenError } from './guard-error.js';
import { guardScript } from './redis/script.js';
import { RedisTransaction } from './redis/transaction.js';

export * from './exports.js';
export { RedisTransaction };

/** A client or a cluster of `ioredis`, or of `redis`. */
export type RedisClient = IoRedis | NodeRedis;

interface IoRedis {
  defineCommand(name: string, definition: { lua: string }): unknown;
  eval(script: string, keys: number, ...values: (string | Buffer)[]): Promise<unknown>;
  on(event: 'close', listener: () => void): unknown;
  readonly options: object;
}

interface NodeRedis {
  readonly isOpen: boolean;
  eval(script: string, options: { keys: string[]; arguments: (string | Buffer)[] }): Promise<unknown>;
}

/** Runs `job`, then the commands that it has added, in one step, and only while no later holder of the lock has written. */
export async function fenced<T>(
  client: RedisClient,
  hold: FencedHold,
  job: Job<RedisTransaction, T>,
  options?: Pick<FencedOptions, 'key'>,
): Promise<T> {
  return runFenced(redis, client, hold, job, options);
}

const redis: Store<RedisClient, RedisTransaction> = {
  accepts: ['key'],
  check(client: { eval?: unknown; options?: unknown } | undefined) {
    if (typeof client?.eval !== 'function' || !('defineCommand' in client || 'isOpen' in client))
      throw new TypeError('Expected a client of `ioredis` or of `redis`');
    if ((client.options as { keyPrefix?: string } | undefined)?.keyPrefix)
      throw new TypeError('Expected a client without `keyPrefix`, because the keys inside a script would not get it');
  },
  attempt: (client, fence, job) => attemptOnce(() => Promise.resolve(begin(client, fence)), fence, job),
  isRetryable: () => false,
};

function begin(client: RedisClient, fence: Fence): Transaction<RedisTransaction> {
  const tx = new RedisTransaction();
  const id = randomBytes(8).toString('hex');
  const run = async (mode: 'claim' | 'commit' | 'drop'): Promise<unknown[]> => {
    const key = `lock-fence:${fence.key}`;
    const values = [padded(fence.token, fence.grant), mode, id, ...(mode === 'commit' ? tx.queued : [])];
    const answer = await ('defineCommand' in client
      ? unlessClosed(client, client.eval(guardScript, 1, key, ...values))
      : client.eval(guardScript, { keys: [key], arguments: values }));
    const [outcome, stored = '', ...replies] = answer as [unknown, unknown, ...unknown[]];
    if (String(outcome) === 'done') return replies;
    if (String(outcome) === 'again') throw new Error('Redis has done the transaction, and its replies are lost');
    const [token, grant] = String(stored).split(':');
    if (String(outcome) === 'stale')
      throw new StaleTokenError(fence, { token: BigInt(token ?? 0), grant: BigInt(grant ?? 0) });
    const what = `The key ${key} was deleted or replaced during the transaction, or it is not a guard's key: ${String(stored)}`;
    throw new GuardError(
      'ERR_LOCK_GUARD_FAILED',
      `${what}. Do not let Redis evict it, or give another name by the option \`key\``,
    );
  };
  return {
    tx,
    claim: () => run('claim'),
    settle: () => Promise.resolve(tx.close()),
    commit: async () => tx.replies.push(...(await run('commit'))),
    // Not waited for, because Redis may be away. A client sends its commands in order.
    rollback: () => Promise.resolve(void run('drop').catch(() => undefined)),
    // An error of Redis begins with its code, such as WRONGTYPE. A minified bundle has other names of classes.
    isAnswer: (error) => /^[A-Z][A-Z0-9_]+ /.test((error as Error).message),
    release: () => tx.close(),
  };
}

/**
 * With `autoResendUnfulfilledCommands: false`, ioredis never settles a command whose answer was lost (ioredis#2193).
 */
function unlessClosed<T>(client: IoRedis, answer: Promise<T>): Promise<T> {
  if ((client.options as { autoResendUnfulfilledCommands?: boolean }).autoResendUnfulfilledCommands !== false)
    return answer;
  const waiting = waitingFor.get(client) ?? waitFor(client);
  return new Promise<T>((resolve, reject) => {
    waiting.add(reject);
    answer.then(resolve, reject).finally(() => waiting.delete(reject));
  });
}

/** One listener for each client, because Node.js would warn of a leak at the eleventh. */
function waitFor(client: IoRedis): Set<(why: Error) => void> {
  const waiting = new Set<(why: Error) => void>();
  client.on('close', () => {
    for (const reject of waiting) reject(new Error('The connection to Redis ended before the answer'));
    waiting.clear();
  });
  waitingFor.set(client, waiting);
  return waiting;
}

const waitingFor = new WeakMap<IoRedis, Set<(why: Error) => void>>();

/** Both have one length, so that the order of the texts is the order of the numbers. A number of Lua is not exact above 2^53. */
function padded(...numbers: bigint[]): string {
  return numbers.map((number) => String(number).padStart(20, '0')).join(':');
}
