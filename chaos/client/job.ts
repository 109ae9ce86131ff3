import { LockError, type Hold } from '../../src/index.ts';
import { now } from '../../lab/judge/history.ts';
import { useList, type ListWay } from './list.ts';
import type { RecordOwner } from './recorder.ts';
import type { RegisterClient } from './register-client.ts';

export interface Job {
  readonly id: string;
  readonly path: string;
  readonly lengthMs: number;
  readonly writes: number;
  /**
   * How long its writes are under way. They may arrive when another owner holds the lock, and be refused for their
   * token.
   */
  readonly delayMs: number;
  /** How late it commits the transactions of its hold. The hold may be over by then. */
  readonly lateMs: number;
  /** The kind of use of the list of the path. Undefined for none. */
  readonly list: ListWay | undefined;
  readonly nextNumber: () => number;
  readonly readsRegister: boolean;
  /** For an election: asks who leads. */
  readonly leader: (() => Promise<string>) | undefined;
  /** No job of this process ends before that time unless it loses its lock, so that faults hit holders. */
  readonly keeping: { readonly until: number };
}

const lookEveryMs = 20;

/**
 * The job of a careful owner: it writes with its token, reads `isValid` before each write, and ends when `isValid` is
 * false. An owner that shares the lock only reads `isValid`.
 */
export async function work(
  { id, path, lengthMs, writes, delayMs, lateMs, keeping, leader, list, nextNumber, readsRegister }: Job,
  hold: Hold,
  record: RecordOwner,
  register: RegisterClient,
): Promise<void> {
  const until = performance.now() + lengthMs;
  if (leader) await askWhoLeads(leader, hold, record);
  const takeList = async (): Promise<void> => {
    if (list) await useList(hold, { path, lateMs, way: list, nextNumber }, record);
  };
  if (readsRegister) await readRegister(path, record, register);
  if (writes === 0) await takeList();
  for (let count = 1; ; count += 1) {
    const t = now();
    const { isValid } = hold;
    if (!isValid || count > writes) {
      record({ type: 'look', valid: isValid }, t);
    } else {
      const write = `${id}/${count}`;
      record({ type: 'write', write, valid: isValid }, t);
      const [accepted] = await Promise.all([
        register.write({ path, write, token: tokenOf(hold), delayMs }),
        takeList(),
      ]);
      const answeredAt = now();
      record({ type: 'written', write, accepted, valid: hold.isValid }, answeredAt);
    }
    const leftMs = Math.max(until, keeping.until) - performance.now();
    if (!isValid || (leftMs <= 0 && count >= writes)) return;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(leftMs, lookEveryMs))));
  }
}

async function readRegister(path: string, record: RecordOwner, register: RegisterClient): Promise<void> {
  const t = now();
  const value = await register.read(path);
  record({ type: 'read', value, answeredAt: now() }, t);
}

async function askWhoLeads(leader: () => Promise<string>, hold: Hold, record: RecordOwner): Promise<void> {
  try {
    const shown = await leader();
    const t = now();
    record({ type: 'leader', shown, valid: hold.isValid }, t);
  } catch (error) {
    // No server answered in time, or the client is about to close.
    if (!(error instanceof LockError)) throw error;
  }
}

/** Records the grant now, and the loss if it happens. */
export function recordGrant(hold: Hold, path: string, record: RecordOwner): void {
  const t = now();
  record({ type: 'granted', path, hold: nameOf(hold), token: tokenOf(hold), valid: hold.isValid }, t);
  const { signal } = hold;
  const lost = (): void =>
    record({ type: 'lost', reason: (signal.reason as { reason?: string }).reason ?? String(signal.reason) });
  if (signal.aborted) lost();
  else signal.addEventListener('abort', lost, { once: true });
}

/** All grants of one znode of a sticky lock have the same czxid. Their grant numbers differ. */
function tokenOf({ fencingToken, grantNumber }: Hold): string {
  return String((fencingToken << 40n) | grantNumber);
}

function nameOf({ path, grantNumber }: Hold): string {
  return grantNumber === 0n ? path : `${path}#${grantNumber}`;
}
