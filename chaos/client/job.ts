import type { Hold } from '../../src/index.ts';
import { now } from '../history.ts';
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
  /** No job of this process ends before that time unless it loses its lock, so that faults hit holders. */
  readonly keeping: { readonly until: number };
}

const lookEveryMs = 20;

/**
 * The job of a careful owner: it writes with its token, reads `isValid` before each write, and ends when `isValid` is
 * false. An owner that shares the lock only reads `isValid`.
 */
export async function work(
  { id, path, lengthMs, writes, delayMs, keeping }: Job,
  hold: Hold,
  record: RecordOwner,
  register: RegisterClient,
): Promise<void> {
  const until = performance.now() + lengthMs;
  for (let count = 1; ; count += 1) {
    const t = now();
    const { isValid } = hold;
    if (!isValid || count > writes) {
      record({ type: 'look', valid: isValid }, t);
    } else {
      const write = `${id}/${count}`;
      record({ type: 'write', write, valid: isValid }, t);
      const accepted = await register.write({ path, write, token: tokenOf(hold), delayMs });
      const answeredAt = now();
      record({ type: 'written', write, accepted, valid: hold.isValid }, answeredAt);
    }
    const leftMs = Math.max(until, keeping.until) - performance.now();
    if (!isValid || (leftMs <= 0 && count >= writes)) return;
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, Math.min(leftMs, lookEveryMs))));
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
