import { LockError, OutcomeUnknownError, ZooKeeperError, type Hold } from '../../src/index.ts';
import { getData } from '../../src/zookeeper/wire/operations.ts';
import { now } from '../../lab/judge/history.ts';
import { dataOf } from '../lock-plan.ts';
import { listIn, textOf } from '../list-data.ts';
import type { RecordOwner } from './recorder.ts';

/**
 * `read`: the holder may not be alone, and writes nothing. `append`: it is alone, and adds a number to what it read.
 * `compare`: it is not alone, and so requires that nobody wrote meanwhile.
 */
export type ListWay = 'read' | 'append' | 'compare';

export interface ListTask {
  readonly path: string;
  readonly way: ListWay;
  /** The time between the read and the write. The hold may be lost in it. */
  readonly lateMs: number;
  readonly nextNumber: () => number;
}

const partLength = 100;

/**
 * Jepsen's list-append: reads the list of the path, and adds the next number by a transaction of the hold. The read is
 * on the session of the hold, which has seen the end of the hold before, and so its last write too.
 */
export async function useList(hold: Hold, task: ListTask, record: RecordOwner): Promise<void> {
  const { path, way, lateMs, nextNumber } = task;
  const t = now();
  const found = await read(hold, dataOf(path));
  if (found === undefined || !hold.isValid) return;
  const { list, version } = found;
  const known = { type: 'list', ...list, answeredAt: now() } as const;
  if (way === 'read') return record(known, t);
  const append = nextNumber();
  const isFull = list.numbers.length >= partLength;
  const next = { part: list.part + (isFull ? 1 : 0), numbers: [...(isFull ? [] : list.numbers), append] };
  record({ ...known, append, to: next.part }, t);
  const transaction = hold
    .transaction()
    .setData(dataOf(path), Buffer.from(textOf(next)), way === 'compare' ? { version } : {});
  if (lateMs > 0) await new Promise((resolve) => setTimeout(resolve, lateMs));
  try {
    const [{ mzxid }] = await transaction.commit();
    record({ type: 'appended', append, outcome: 'ok' });
    record({ type: 'guarded', zxid: String(mzxid) });
  } catch (error) {
    if (!(error instanceof LockError)) throw error;
    record({ type: 'appended', append, outcome: error instanceof OutcomeUnknownError ? 'info' : 'fail' });
  }
}

/** Undefined if no server answered. */
async function read(
  hold: Hold,
  path: string,
): Promise<{ list: ReturnType<typeof listIn>; version: number } | undefined> {
  try {
    const { data, stat } = (await hold.grant.node.session.request(getData(path, false))).value;
    return { list: listIn(String(data)), version: stat.version };
  } catch (error) {
    if (!(error instanceof LockError || error instanceof ZooKeeperError)) throw error;
    return undefined;
  }
}
