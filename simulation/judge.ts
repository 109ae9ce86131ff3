import type { Hold, LockLostError } from '../src/index.ts';
import { mayMeet, nameOf, type Claim } from './claim.ts';
import type { Owner } from './owner.ts';
import type { Recorder } from './recorder.ts';
import type { Bench } from './rules/bench.ts';
import { GuardedWrites } from './rules/guarded-writes.ts';
import { Leases } from './rules/leases.ts';
import { isOrdered, judgeExistence, olderThan } from './rules/order.ts';
import { ReEntry } from './rules/re-entry.ts';
import { Revocations } from './rules/revocations.ts';
import { Terms } from './rules/terms.ts';
import { Tokens } from './rules/tokens.ts';
import { judgeWeights } from './rules/weight-limits.ts';
import type { Committed } from './servers.ts';
import type { Violation } from './violation.ts';

/** The checks from outside: it knows who was granted what, and what the servers have committed. */
export class Judge implements Bench {
  readonly violations: Violation[] = [];
  readonly grants: Claim[] = [];
  readonly recorder: Recorder | undefined;
  readonly now: () => number;
  readonly committed: () => Committed;
  readonly writes = new GuardedWrites(this);
  readonly terms = new Terms(this);
  readonly reEntry = new ReEntry(this);
  readonly revocations: Revocations;
  readonly #tokens = new Tokens(this);
  readonly #leases = new Leases(this);
  readonly #claims = new Map<string, Claim[]>();
  readonly #granted = new Set<string>();
  /** The znodes that a third party deleted, and the sessions that it ended. */
  readonly #takenZnodes = new Set<string>();
  readonly #takenSessions = new Set<bigint>();

  constructor({ now, committed, recorder, sessionTimeoutMs }: JudgeOptions) {
    this.recorder = recorder;
    this.now = now;
    this.committed = committed;
    this.revocations = new Revocations(this, 1.5 * sessionTimeoutMs);
  }

  readonly tell = (check: string, text: string): void => {
    this.violations.push({ check, t: this.now(), text });
  };

  readonly wasGranted = (path: string): boolean => this.#granted.has(path);

  granted(owner: Owner, hold: Hold): Claim {
    const claim = this.#claimOf(owner, hold);
    this.grants.push(claim);
    this.#recordGrant(claim);
    if (claim.isTold) {
      this.#judgeInvalid(claim);
      return claim;
    }
    hold.signal.addEventListener('abort', () => this.#told(claim), { once: true });
    this.reEntry.granted(claim);
    // The news of the end of a znode may arrive behind the grant.
    if (!claim.isTaken) {
      this.#tokens.granted(claim);
      this.#judgeGrant(claim);
    }
    const claims = this.#claims.get(owner.lock.path);
    if (claims) claims.push(claim);
    else this.#claims.set(owner.lock.path, [claim]);
    return claim;
  }

  /** The application has, or will soon have, the lock by this znode. */
  grantedZnode(path: string): void {
    this.#granted.add(path);
  }

  released(claim: Claim): void {
    if (!claim.isReleased) {
      this.#leases.released(claim);
      this.revocations.released(claim);
    }
    claim.isReleased = true;
    this.recorder?.owner(claim.owner.client.name, claim.owner.id, { type: 'releasing', valid: !claim.isTold });
  }

  /** Called after each event in which code of a client ran. */
  look(): void {
    this.terms.look();
    for (const [path, claims] of this.#claims) {
      if (claims.length < 2) continue;
      const open = claims.filter((claim) => !claim.isReleased && !claim.isTold && !claim.owner.client.process.isDead);
      if (open.length < claims.length) this.#claims.set(path, open);
      if (open.length >= 2) this.#judgeTogether(open);
    }
  }

  takenZnode(path: string): void {
    this.#takenZnodes.add(path);
    this.#take();
  }

  takenSession(id: bigint): void {
    this.#takenSessions.add(id);
    this.#take();
  }

  judgeEnd(): void {
    // Every hold that a third party took was told, unless it was released.
    for (const claim of this.grants)
      if (claim.isTaken && !claim.isReleased && !claim.isTold && !claim.owner.client.process.isDead)
        this.tell('I8', `${nameOf(claim)} was never told that its znode is gone`);
    judgeWeights(this.grants, this);
  }

  #claimOf(owner: Owner, hold: Hold): Claim {
    const claim: Claim = {
      owner,
      hold,
      path: hold.path,
      sessionId: hold.shared.grant.node.session.id,
      at: this.now(),
      processAt: owner.client.process.now,
      isReleased: false,
      isTold: hold.signal.aborted,
      isTaken: false,
    };
    claim.isTaken = this.#isTaken(claim);
    return claim;
  }

  #recordGrant({ owner: { client, id, lock }, hold, isTold }: Claim): void {
    this.recorder?.owner(client.name, id, {
      type: 'granted',
      path: lock.path,
      hold: hold.grantNumber === 0n ? hold.path : `${hold.path}#${hold.grantNumber}`,
      token: String(hold.fencingToken),
      valid: !isTold,
    });
  }

  /** `forceRelease` may take the lock in the same event that grants it. */
  #judgeInvalid(claim: Claim): void {
    const { reason } = claim.hold.signal.reason as LockLostError;
    if (!claim.isTaken && reason !== 'forced')
      this.tell('granted-invalid', `${nameOf(claim)} was granted a hold that is not valid`);
  }

  #told(claim: Claim): void {
    claim.isTold = true;
    const { owner, hold } = claim;
    this.recorder?.owner(owner.client.name, owner.id, {
      type: 'lost',
      reason: (hold.signal.reason as LockLostError).reason,
    });
    this.#leases.told(claim);
  }

  #take(): void {
    for (const claims of this.#claims.values())
      for (const claim of claims) if (!claim.isTaken && this.#isTaken(claim)) claim.isTaken = true;
  }

  #isTaken({ path, sessionId }: Claim): boolean {
    return this.#takenZnodes.has(path) || this.#takenSessions.has(sessionId);
  }

  /** I1 and I8. */
  #judgeTogether(open: readonly Claim[]): void {
    for (let later = 1; later < open.length; later += 1)
      for (let earlier = 0; earlier < later; earlier += 1) {
        const [a, b] = [open[earlier] as Claim, open[later] as Claim];
        if (a.owner.flow === b.owner.flow || mayMeet(a, b)) continue;
        if (this.#believes(a) && this.#believes(b) && !a.isAccused) {
          a.isAccused = true;
          const check = this.#isValid(a) && this.#isValid(b) ? 'I1' : 'I8';
          this.tell(check, `${nameOf(a)} still has the lock, and ${nameOf(b)} has it too`);
        }
      }
    this.#judgePermits(open);
  }

  #judgePermits(open: readonly Claim[]): void {
    const { lock } = (open[0] as Claim).owner;
    if (lock.is !== 'semaphore') return;
    const valid = open.filter((claim) => this.#believes(claim));
    const [first] = valid;
    if (!first || valid.length <= lock.maxLeases || first.isAccused) return;
    first.isAccused = true;
    this.tell('I1', `${valid.length} leases of ${lock.maxLeases}: ${valid.map(nameOf).join(', ')}`);
  }

  /** Its code has every reason to believe that it has the lock. Code that does not run can learn of nothing. */
  #believes(claim: Claim): boolean {
    if (claim.isTaken) return false;
    return claim.owner.client.process.stalledUntil + wakingMs >= this.now() ? this.#isValid(claim) : true;
  }

  /** As `isValid`, which would itself notice a loss. */
  #isValid({ hold, owner: { client } }: Claim): boolean {
    return client.process.now < hold.shared.grant.deadline;
  }

  /** I2 and I5. */
  #judgeGrant(claim: Claim): void {
    if (!judgeExistence(claim, 'was granted', this) || !isOrdered(claim)) return;
    const older = olderThan(claim, this);
    if (older !== undefined)
      this.tell('I5', `${nameOf(claim)} was granted ${claim.owner.lock.path} while ${older} is before it`);
  }
}

export interface JudgeOptions {
  /** Virtual milliseconds. */
  readonly now: () => number;
  readonly committed: () => Committed;
  /** Undefined unless the run is to be drawn. */
  readonly recorder: Recorder | undefined;
  readonly sessionTimeoutMs: number;
}

/** The milliseconds for which a process that stalled runs its late timers, one after another. */
const wakingMs = 5;
