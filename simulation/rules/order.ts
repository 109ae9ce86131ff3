import { nameOf, sequenceOf, type Claim } from '../claim.ts';
import type { Bench } from './bench.ts';

/**
 * I5: a znode that was created before the claim's and keeps it out. Undefined if there is none. An older znode of the
 * same session that had the lock, and hands it over, keeps nobody out.
 */
export function olderThan(claim: Claim, { committed, wasGranted }: Bench): string | undefined {
  const { path, sessionId, owner } = claim;
  const slash = path.lastIndexOf('/');
  const [folder, name] = [path.slice(0, slash), path.slice(slash + 1)];
  const sequence = sequenceOf(name);
  const servers = committed();
  return servers.children(folder).find((other) => {
    if (sequenceOf(other) >= sequence || (owner.role === 'reader' && !other.includes('__WRIT__'))) return false;
    const older = `${folder}/${other}`;
    return !(servers.ownerOf(older) === sessionId && wasGranted(older));
  });
}

/** I2: the znode of the claim exists, and belongs to the session of the claim. Returns false if not. */
export function judgeExistence(claim: Claim, doing: string, bench: Bench): boolean {
  const owner = bench.committed().ownerOf(claim.path);
  if (owner === claim.sessionId) return true;
  bench.tell(
    'I2',
    `${nameOf(claim)} ${doing} a znode that ${owner === undefined ? 'is gone' : 'another session owns'}`,
  );
  return false;
}

/** True if the order of the znodes decides who has the lock, and one owner has it alone. */
export function isOrdered({ owner: { lock } }: Claim): boolean {
  return lock.is !== 'weighted' && lock.is !== 'semaphore';
}
