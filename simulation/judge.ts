import { fold } from '../lab/judge/folded-history.ts';
import { judge } from '../lab/judge/judge.ts';
import type { HistoryEvent } from '../lab/judge/history.ts';
import type { Violation } from '../lab/judge/violation.ts';
import type { Hold, LockLostError, LossReason } from '../src/index.ts';
import { nameOf, type Claim } from './claim.ts';
import type { Owner } from './owner.ts';
import type { LockPlan } from './plan.ts';
import type { Recorder } from './recorder.ts';
import type { SimClient } from './sim-client.ts';
import { wakingMs, type Bench, type Committed } from './rules/bench.ts';
import { GuardedWrites } from './rules/guarded-writes.ts';
import { Calls } from './rules/calls.ts';
import { Leases } from './rules/leases.ts';
import { Losses, type LossTerms } from './rules/losses.ts';
import { MultiLocks } from './rules/multi-locks.ts';
import { isOrdered, judgeExistence, olderThan } from './rules/order.ts';
import { ReEntry } from './rules/re-entry.ts';
import { Refusals } from './rules/refusals.ts';
import { Revocations } from './rules/revocations.ts';
import { Taken } from './rules/taken.ts';
import { Tenures } from './rules/tenures.ts';
import { Terms } from './rules/terms.ts';
import { Woken } from './rules/woken.ts';

/**
 * The checks from outside. It knows who was granted what, and what the servers have committed, and judges that at once.
 * At the end it has the rest judged by the recorded history, as chaos does with real processes.
 */
export class Judge implements Bench {
  readonly violations: Violation[] = [];
  readonly grants: Claim[] = [];
  readonly recorder: Recorder;
  readonly now: () => number;
  readonly committed: () => Committed;
  readonly writes = new GuardedWrites(this, (claim, order) => this.#wrote(claim, order));
  readonly terms = new Terms(this);
  readonly multiLocks = new MultiLocks(this);
  readonly reEntry = new ReEntry(this);
  readonly refusals = new Refusals(this);
  readonly revocations: Revocations;
  readonly losses: Losses;
  readonly taken: Taken;
  readonly tenures: Tenures;
  readonly calls: Calls;
  readonly woken: Woken;
  readonly #leases = new Leases(this);
  readonly #calledAt = new WeakMap<Owner, number>();
  readonly #claims = new Map<string, Claim[]>();
  readonly #granted = new Set<string>();
  /** The znodes that a third party deleted, and the sessions that it ended. */
  readonly #takenZnodes = new Set<string>();
  readonly #takenSessions = new Set<bigint>();
  readonly #lostSessions = new Set<string>();

  constructor({ now, committed, recorder, locks, ...terms }: JudgeOptions) {
    this.recorder = recorder;
    this.now = now;
    this.committed = committed;
    this.revocations = new Revocations(this, 1.5 * terms.sessionTimeoutMs);
    this.losses = new Losses(this, terms);
    this.taken = new Taken(this, terms);
    this.tenures = new Tenures(this, terms.sessionTimeoutMs);
    this.calls = new Calls(this, locks, terms.sessionTimeoutMs);
    this.woken = new Woken(this, this.losses, locks, terms.sessionTimeoutMs);
  }

  readonly tell = (check: string, text: string): void => {
    this.violations.push({ check, t: this.now(), text, ids: [] });
  };

  readonly wasGranted = (path: string): boolean => this.#granted.has(path);

  /** The application calls an acquire. */
  called(owner: Owner): void {
    this.#calledAt.set(owner, this.now());
    this.calls.called(owner);
  }

  granted(owner: Owner, hold: Hold): Claim {
    const claim = this.#claimOf(owner, hold);
    this.grants.push(claim);
    this.#recordGrant(claim);
    if (claim.isTold) return claim;
    hold.signal.addEventListener('abort', () => this.#told(claim), { once: true });
    this.reEntry.granted(claim);
    this.taken.granted(claim);
    this.tenures.granted(claim);
    this.woken.granted(claim);
    // The news of the end of a znode may arrive behind the grant.
    if (!claim.isTaken) this.#judgeGrant(claim);
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
      this.tenures.released(claim);
      if (!claim.isTold) this.taken.handedOver(claim);
    }
    claim.isReleased = true;
    this.recorder.owner(claim.owner.client.name, claim.owner.id, {
      type: 'releasing',
      valid: !claim.isTold && this.#isValid(claim),
    });
  }

  /** Called after each event in which code of a client ran. */
  look(): void {
    this.terms.look();
    this.multiLocks.look();
    this.taken.look();
    for (const [path, claims] of this.#claims) {
      if (claims.length < 2) continue;
      const open = claims.filter((claim) => this.#isOpen(claim));
      if (open.length < claims.length) this.#claims.set(path, open);
      if (open.length >= 2) for (const claim of open) this.#lookFor(claim);
    }
  }

  /**
   * A history excuses code that is stopped, unless a look shows that its hold is valid. So the judge looks instead of
   * it.
   */
  #lookFor(claim: Claim): void {
    const { owner, at } = claim;
    if (owner.client.process.stalledUntil < at || !this.#believes(claim)) return;
    this.recorder.owner(owner.client.name, owner.id, { type: 'look', valid: true });
  }

  takenZnode(path: string): void {
    this.taken.taken(path);
    this.#takenZnodes.add(path);
    this.#take();
  }

  /** A client gets the event of a znode's deletion. */
  heardDeletion(path: string, session: bigint): void {
    this.taken.heard(this.grants, path, session);
  }

  /**
   * A client asks for a session again. It touches no session whose lost job still runs, because that would extend it,
   * unless it closes.
   */
  attaches(client: SimClient, session: bigint): void {
    if (client.client?.host.isClosing !== false) return;
    for (const claim of this.grants)
      if (claim.sessionId === session && claim.isTold && !claim.isReleased && endsSession.has(reasonOf(claim.hold)))
        this.tell('ghost', `the session of ${nameOf(claim)}, whose job still runs, is touched after its loss`);
  }

  takenSession(id: bigint): void {
    this.#takenSessions.add(id);
    this.#take();
  }

  /** The servers lose their data, and with it these sessions. Those of earlier grants may have ended before. */
  wiped(sessions: readonly bigint[]): void {
    this.refusals.wiped();
    for (const { sessionId } of this.grants) this.#lostSessions.add(sessionName(sessionId));
    for (const session of sessions) {
      this.#lostSessions.add(sessionName(session));
      this.takenSession(session);
    }
  }

  /** I1, also while no other client wants the lock: a hold is told before the servers end its znode. */
  deleted(path: string): void {
    if (this.losses.isForced(path)) return;
    for (const claim of [...this.#claims.values()].flat())
      if (claim.path === path && this.#isOpen(claim) && this.#believes(claim))
        this.tell('I1', `${nameOf(claim)} is valid, and its znode is gone`);
  }

  judgeEnd(): void {
    // Every hold that a third party took was told, unless it was released.
    for (const claim of this.grants)
      if (claim.isTaken && !claim.isReleased && !claim.isTold && !claim.owner.client.process.isDead)
        this.tell('I8', `${nameOf(claim)} was never told that its znode is gone`);
  }

  /** The promises that the recorded history alone shows to be broken. */
  judgeHistory(): void {
    for (const history of this.#histories()) this.violations.push(...judge(fold(history)));
    this.violations.sort((a, b) => a.t - b.t);
  }

  /** Exclusion and tokens do not outlast the servers' data: what was granted before its loss is a history of its own. */
  #histories(): HistoryEvent[][] {
    const { events } = this.recorder;
    const before = new Set(
      events.flatMap((event) =>
        event.type === 'granted' && this.#lostSessions.has(event.session ?? '') ? [event.id] : [],
      ),
    );
    return [true, false].map((isBefore) =>
      events.filter((event) => !('id' in event) || before.has(event.id) === isBefore),
    );
  }

  #claimOf(owner: Owner, hold: Hold): Claim {
    const claim: Claim = {
      owner,
      hold,
      path: hold.path,
      sessionId: hold.grant.node.session.id,
      at: this.now(),
      calledAt: this.#calledAt.get(owner) ?? this.now(),
      processAt: owner.client.process.now,
      isReleased: false,
      isTold: hold.signal.aborted,
      isTaken: false,
    };
    claim.isTaken = this.#isTaken(claim);
    return claim;
  }

  #recordGrant(claim: Claim): void {
    const { owner, hold, isTold } = claim;
    const { client, id, lock } = owner;
    // `forceRelease` may take the lock in the same event that grants it.
    if (isTold && (claim.isTaken || reasonOf(hold) === 'forced')) {
      this.recorder.owner(client.name, id, { type: 'refused', outcome: 'error', error: reasonOf(hold) });
      return;
    }
    this.recorder.owner(client.name, id, {
      type: 'granted',
      path: lock.path,
      hold: hold.grantNumber === 0n ? hold.path : `${hold.path}#${hold.grantNumber}`,
      token: String(hold.fencingToken),
      valid: !isTold,
      session: sessionName(claim.sessionId),
    });
  }

  #wrote({ owner: { client, id } }: Claim, order: number): void {
    this.recorder.owner(client.name, id, { type: 'guarded', zxid: String(order) });
  }

  #told(claim: Claim): void {
    claim.isTold = true;
    const { owner, hold } = claim;
    this.recorder.owner(owner.client.name, owner.id, { type: 'lost', reason: reasonOf(hold) });
    this.#leases.told(claim);
    this.losses.told(claim, reasonOf(hold));
    // The lock is handed over in this event, and the job of the hold may go on.
    if (reasonOf(hold) === 'lease-expired') this.taken.handedOver(claim);
  }

  #isOpen({ isReleased, isTold, owner: { client } }: Claim): boolean {
    return !isReleased && !isTold && !client.process.isDead;
  }

  #take(): void {
    for (const claims of this.#claims.values())
      for (const claim of claims) if (!claim.isTaken && this.#isTaken(claim)) claim.isTaken = true;
  }

  #isTaken({ path, sessionId }: Claim): boolean {
    return this.#takenZnodes.has(path) || this.#takenSessions.has(sessionId);
  }

  /** Its code has every reason to believe that it has the lock. Code that does not run can learn of nothing. */
  #believes(claim: Claim): boolean {
    if (claim.isTaken) return false;
    return claim.owner.client.process.stalledUntil + wakingMs >= this.now() ? this.#isValid(claim) : true;
  }

  /** As `isValid`, which would itself notice a loss. */
  #isValid({ hold, owner: { client } }: Claim): boolean {
    return client.process.shownAt(this.now()) < hold.grant.deadline;
  }

  /** I2 and I5. */
  #judgeGrant(claim: Claim): void {
    if (!judgeExistence(claim, 'was granted', this) || !isOrdered(claim)) return;
    const older = olderThan(claim, this);
    if (older !== undefined)
      this.tell('I5', `${nameOf(claim)} was granted ${claim.owner.lock.path} while ${older} is before it`);
  }
}

export interface JudgeOptions extends LossTerms {
  /** Virtual milliseconds. */
  readonly now: () => number;
  readonly committed: () => Committed;
  readonly recorder: Recorder;
  readonly locks: readonly LockPlan[];
}

function reasonOf({ signal }: Hold): LossReason {
  return (signal.reason as LockLostError).reason;
}

const endsSession: ReadonlySet<LossReason> = new Set(['session-deadline', 'session-expired']);

/** As histories name a session. */
export function sessionName(id: bigint): string {
  return `0x${id.toString(16)}`;
}
