import { claimOf } from '../../lab/judge/claim.ts';
import type { Granted, History, Registered, Write } from '../../lab/judge/folded-history.ts';
import { isOneOwner } from '../../lab/judge/owner.ts';
import { moment, type Violation } from '../../lab/judge/violation.ts';

/**
 * Checks the resource that the lock protects, by its own record. These are violations:
 * - the register accepted a token smaller than one that it had accepted before, or refused one that is not smaller;
 * - it received another token than the hold's, or answered otherwise than it recorded;
 * - it accepted a write whose hold was not valid when the write was sent;
 * - it accepted a write after another owner's grant with a larger token, and the write's own hold still said afterwards
 *   that it was valid;
 * - it refused a write, and the write's own hold still said afterwards that it was valid.
 *
 * Not a violation: a write that was sent while its hold was valid, and that was accepted after the hold's end and the
 * next grant, but before the next holder's first write. A message may be under way for any time, and a token fences
 * only from the next holder's first write on. Not a violation either: the writes of a hold whose znode a third party
 * deleted, until the holder learned of it.
 */
export function register(history: History): Violation[] {
  const largest = new Map<string, bigint>();
  return history.registered.flatMap((entry) => {
    const [seen, token] = [largest.get(entry.path) ?? 0n, BigInt(entry.token)];
    if (entry.accepted && token > seen) largest.set(entry.path, token);
    const write = history.writes.get(entry.write);
    const faults = [bookkeeping(entry, token, seen), write && bySender(history, entry, write)];
    return faults
      .filter((fault) => fault !== undefined)
      .map((fault) => ({
        check: 'register',
        t: entry.t,
        text: `write ${entry.write} (${entry.path}, token ${entry.token}) ${fault}`,
        ids: write ? [write.acquire.id] : [],
      }));
  });
}

function bookkeeping({ accepted }: Registered, token: bigint, seen: bigint): string | undefined {
  if (accepted && token < seen) return `was accepted after token ${seen}`;
  if (!accepted && token >= seen) return `was refused, although the largest token so far was ${seen}`;
  return undefined;
}

function bySender(history: History, entry: Registered, { acquire, sent, answered }: Write): string | undefined {
  const { granted } = acquire;
  if (granted === undefined) return `was sent by ${acquire.id}, which holds nothing`;
  const hold: Granted = { ...acquire, granted };
  if (BigInt(entry.token) !== granted.token) return `was sent by ${acquire.id}, whose token is ${granted.token}`;
  if (answered && answered.accepted !== entry.accepted)
    return `was ${said(entry.accepted)}, but its sender was told that it was ${said(answered.accepted)}`;
  if (entry.accepted && !sent.valid)
    return `was accepted, although its hold was not valid when it was sent at ${moment(history, sent.t)}`;
  if (!answered?.valid || answered.t > claimOf(hold, history).to) return undefined;
  if (!entry.accepted) return 'was refused, although its hold was still valid afterwards';
  const next = nextOwner(history, hold);
  if (next === undefined || next.granted.t >= entry.t) return undefined;
  return `was accepted after ${next.id} was granted token ${next.granted.token} at ${moment(history, next.granted.t)}, and its hold was still valid afterwards`;
}

function said(accepted: boolean): string {
  return accepted ? 'accepted' : 'refused';
}

/**
 * The first owner that is granted a larger token. A grant with a smaller token that is recorded later only reached its
 * code late.
 */
function nextOwner({ grants }: History, hold: Granted): Granted | undefined {
  return firstAfter(
    grants.get(hold.path) ?? [],
    hold.granted.t,
    (other) => other.granted.token > hold.granted.token && !isOneOwner(other, hold),
  );
}

/** `grants` are ordered by time. */
function firstAfter(grants: readonly Granted[], t: number, is: (grant: Granted) => boolean): Granted | undefined {
  let [low, high] = [0, grants.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((grants[middle]?.granted.t ?? Infinity) <= t) low = middle + 1;
    else high = middle;
  }
  for (let index = low; index < grants.length; index += 1) {
    const grant = grants[index];
    if (grant && is(grant)) return grant;
  }
  return undefined;
}
