import { ForeignNodeError } from './lock-errors.js';
import type { LockClient } from '../client/lock-client.js';
import { getChildren, getData } from '../zookeeper/operations.js';
import { join } from '../zookeeper/path.js';
import { sessionName, type Session } from '../zookeeper/session.js';
import { whenNoNode } from '../zookeeper/zookeeper-error.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { foreignNames, hasMarkedUuid, kazooSequenceOf, sequenceOf } from '../driver/names.js';
import { isMarkedIdle, withoutMark } from './idle-mark.js';
import { ownerIn, type LockOwner } from './lock-owner.js';
import type { Deadline } from './deadline.js';
import { untilAnswered } from './until-answered.js';
import { shownData } from './shown-data.js';

/** Somebody in a lock's queue: the holder is the first, the waiters follow. */
export interface Participant {
  /** Its znode, below the client's chroot. */
  readonly path: string;
  /** The place in the order in which the server created the znodes. */
  readonly sequence: number;
  /** The ZooKeeper session behind it, as the servers' logs write it: `0x100000a2b3c0001`. */
  readonly sessionId: string;
  /**
   * What it wrote into its znode: the host's address by default. Where `revoke` or `forceRelease` has written over it, and this client had not read it before,
   * `__REVOKE__` or `__FORCE__`.
   */
  readonly data: Buffer;
  /** Which process it is, where it has said so by `data: 'owner'`. */
  readonly owner: LockOwner | undefined;
  /** It keeps a sticky lock that nobody uses at the moment, as far as it has told: whoever asks is served at once. */
  readonly isIdle: boolean;
  /** When it queued up, by the clock of the server that led then. */
  readonly createdAt: Date;
  /** Its weight, in a lock with weights; else undefined. */
  readonly weight?: number;
}

/** Who is in the queue by its name: this kind of lock's own nodes, and kazoo's where they are waited for. */
export type Shown = 'own' | 'known';

/** The queue as it is now, in order; empty when nobody was ever there. */
export function readParticipants(client: LockClient, path: string, driver: LockDriver, deadline: Deadline, shown: Shown = 'own'): Promise<Participant[]> {
  return untilAnswered(client, deadline, `The participants of ${path} cannot be read`, async (session) => {
    const names = await namesOf(session, client, path);
    const read = queueOf(names, driver, shown).map((name) => readParticipant(client, session, path, name, placeIn(name, driver)));
    // A participant that left between the list and the look is not there any more.
    return (await Promise.all(read)).filter((participant) => participant !== undefined);
  });
}

/** How to find out who of a queue holds the lock. */
export interface LockRule {
  readonly driver: LockDriver;
  readonly shown: Shown;
}

/** The first of those who hold the lock; undefined when nobody does. Nothing that was written before is missed, through whichever server. */
export function readHolder(client: LockClient, path: string, rule: LockRule, deadline: Deadline): Promise<Participant | undefined> {
  return untilAnswered(client, deadline, `The holder of ${path} cannot be read`, async (session) => {
    session.catchUp(`${client.chroot}${path}`);
    let names = await namesOf(session, client, path);
    for (;;) {
      const first = firstHolding(names, rule);
      if (first === undefined) {
        refuseForeign(path, names, rule);
        return undefined;
      }
      const participant = await readParticipant(client, session, path, first, placeIn(first, rule.driver));
      if (participant) return participant;
      // It has left since: another one of the list holds by now.
      names = names.filter((name) => name !== first);
    }
  });
}

/** Nothing where nobody was ever there. */
function namesOf(session: Session, client: LockClient, path: string): Promise<string[]> {
  return session.request(getChildren(`${client.chroot}${path}`)).then(({ value }) => value, whenNoNode<string[]>([]));
}

/** A lock of another kind may be held there: nobody can say that nobody holds this one. */
function refuseForeign(path: string, names: readonly string[], rule: LockRule): void {
  const foreign = foreignTo(names, rule);
  if (rule.shown === 'own' && foreign.length > 0) throw new ForeignNodeError(path, foreign);
}

function foreignTo(names: readonly string[], { driver, shown }: LockRule): string[] {
  return foreignNames(names, ...(driver.lockNames ?? [driver.lockName])).filter((name) => shown === 'own' || kazooSequenceOf(name) === undefined);
}

/** Of several kinds of locks in one queue, all have a say, and only this kind is looked for. */
function firstHolding(names: readonly string[], rule: LockRule): string | undefined {
  const { driver, shown } = rule;
  const foreign = new Set(foreignTo(names, rule));
  const sorted = driver.sort(names.filter((name) => !foreign.has(name)));
  return queueOf(names, driver, shown).find((name) => driver.decide(sorted, name).held);
}

/** The names of the participants among a lock's children, in order; of several kinds of locks in one queue, only this one's: readers ask for the readers, as in Curator. */
export function queueOf(names: readonly string[], driver: LockDriver, shown: Shown): string[] {
  const hidden = new Set(foreignNames(names, driver.lockName).filter((name) => shown === 'own' || kazooSequenceOf(name) === undefined));
  return driver.sort(names.filter((name) => !hidden.has(name)));
}

/** The place of a participant in the order in which the server created the znodes. */
export function placeIn(name: string, driver: LockDriver): number {
  return sequenceOf(name, driver.lockName) ?? kazooSequenceOf(name) ?? 0;
}

/** Undefined when it has left. */
export async function readParticipant(client: LockClient, session: Session, path: string, name: string, sequence: number): Promise<Participant | undefined> {
  const root = join(`${client.chroot}${path}`, name);
  const reply = await session.request(getData(root, false)).catch(whenNoNode(undefined));
  if (reply === undefined) return undefined;
  const { stat } = reply.value;
  // Elsewhere the mark is what somebody has written.
  const isIdle = hasMarkedUuid(name) && isMarkedIdle(reply.value.data);
  const shown = shownData(client, session, { path: root, ...reply.value });
  const data = hasMarkedUuid(name) ? withoutMark(shown) : shown;
  const sessionId = sessionName(stat.ephemeralOwner);
  return {
    path: join(path, name),
    sequence,
    sessionId,
    data,
    owner: ownerIn(data, sessionId),
    isIdle,
    createdAt: new Date(stat.createdAtMs),
  };
}
