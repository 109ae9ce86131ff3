import { Refusal } from '../../packages/testing/src/wire/refusal.ts';
import type { Transaction } from '../../packages/testing/src/tree/transaction.ts';
import type { Life, Znode } from '../../packages/testing/src/tree/znode.ts';
import type { SessionView } from './leader-sessions.ts';
import type { Member } from './member.ts';
import type { Entry } from './messages.ts';

/** The data as they are committed: what every member will have. Reading it changes nothing. */
export class Committed {
  readonly #member: () => Member;
  readonly #sessions: () => readonly SessionView[];

  /** @param member the member that has applied all that is committed */
  constructor(member: () => Member, sessions: () => readonly SessionView[]) {
    this.#member = member;
    this.#sessions = sessions;
  }

  get zxid(): number {
    return this.#member().replica.zxid;
  }

  has(path: string): boolean {
    return this.#member().replica.tree.get(path) !== undefined;
  }

  get(path: string): CommittedZnode | undefined {
    const znode = this.#member().replica.tree.get(path);
    return znode && viewOf(znode);
  }

  /** The session of an ephemeral znode, 0n for another znode; undefined if there is no such znode. */
  ownerOf(path: string): bigint | undefined {
    return this.get(path)?.ephemeralOwner;
  }

  /** The names of the children, in no useful order; none if there is no such znode. */
  children(path: string): readonly string[] {
    return this.#member().replica.tree.get(path)?.children ?? [];
  }

  /** All paths, ZooKeeper's own included. */
  paths(): Iterable<string> {
    return this.#member().replica.tree.paths();
  }

  /** The ids of the newest leader's sessions, including those that it has proposed to open or to end. */
  get sessions(): readonly bigint[] {
    return this.#sessions().map(({ id }) => id);
  }

  /** The same sessions, as the newest leader sees them. */
  get sessionViews(): readonly SessionView[] {
    return this.#sessions();
  }
}

export interface CommittedZnode {
  readonly data: Buffer | null;
  readonly czxid: number;
  /** The session of an ephemeral znode, 0n for another znode. */
  readonly ephemeralOwner: bigint;
}

/** One committed transaction. */
export interface Commit {
  readonly is: 'open' | 'close' | 'change';
  readonly zxid: number;
  /** The session whose client asked for it, or that it opens or ends. 0n: the servers themselves asked for it. */
  readonly sessionId: bigint;
  /** Empty if the transaction is a refused request, or checks only. */
  readonly changes: readonly CommittedChange[];
}

export type CommittedChange =
  | { readonly is: 'created'; readonly path: string; readonly ephemeralOwner: bigint }
  | { readonly is: 'deleted' | 'dataChanged' | 'aclChanged'; readonly path: string };

/** Call it before the entry is applied to the tree: afterwards, the ephemeral znodes of a closed session are gone. */
export function commitOf({ proposal: { zxid, change }, request }: Entry, ephemeralsOf: EphemeralsOf): Commit {
  const changes: CommittedChange[] = [];
  switch (change.is) {
    case 'openSession':
      return { is: 'open', zxid, sessionId: change.sessionId, changes };
    case 'closeSession':
      for (const path of ephemeralsOf(change.sessionId)) changes.push({ is: 'deleted', path });
      return { is: 'close', zxid, sessionId: change.sessionId, changes };
    case 'transaction':
      addTransaction(changes, change.transaction);
      break;
    case 'multi':
      if (!change.items.some((item) => item instanceof Refusal))
        for (const item of change.items) if (item && !(item instanceof Refusal)) addTransaction(changes, item);
      break;
    case 'refused':
    case 'failed':
  }
  return { is: 'change', zxid, sessionId: request?.connection.sessionId ?? 0n, changes };
}

type EphemeralsOf = (sessionId: bigint) => readonly string[];

function addTransaction(changes: CommittedChange[], made: Transaction): void {
  if (made.is === 'create') {
    const { path, life } = made;
    changes.push({ is: 'created', path, ephemeralOwner: ownerOf(life) });
  } else if (made.is !== 'check') {
    const is = made.is === 'delete' ? 'deleted' : made.is === 'setData' ? 'dataChanged' : 'aclChanged';
    changes.push({ is, path: made.path });
  }
}

function viewOf({ data, createdZxid, life }: Znode): CommittedZnode {
  return { data, czxid: createdZxid, ephemeralOwner: ownerOf(life) };
}

function ownerOf(life: Life): bigint {
  return life.is === 'ephemeral' ? life.sessionId : 0n;
}
