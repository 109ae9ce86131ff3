import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  LeaderElection,
  type Hold,
  type LockClient,
} from '../../src/index.ts';
import type { CallKind, Role } from '../../lab/judge/history.ts';
import type { LockPlan } from '../lock-plan.ts';

/** The options of a call that the history records. */
export interface CallOptions {
  readonly timeoutMs?: number;
  readonly weight?: number;
}

/** The kinds of calls on one lock in one role. */
export interface Side {
  readonly path: string;
  readonly role: Role;
  readonly lock: {
    acquire(options?: CallOptions & { readonly signal?: AbortSignal }): Promise<Hold>;
    tryAcquire(options?: CallOptions): Promise<Hold | undefined>;
  };
  readonly hasWeights?: true;
  /** For an election: the znode of the leader, as the servers know it; an empty text if there is none. */
  readonly leader?: (() => Promise<string>) | undefined;
}

/** A lock and the roles that it offers. */
export type Lock = { readonly kinds: readonly [CallKind, ...CallKind[]] } & (
  | { readonly is: 'mutex' | 'weighted' | 'election'; readonly owner: Side }
  | { readonly is: 'read-write'; readonly reader: Side; readonly writer: Side }
  | { readonly is: 'semaphore'; readonly lease: Side; readonly semaphore: InterProcessSemaphore }
);

/** The settings for the mutexes of one client. */
export interface MutexSetup {
  readonly sticky: { readonly idleMs: number } | undefined;
  readonly overtakesPerWeight: number | undefined;
}

const kinds = ['plain', 'plain', 'plain', 'long', 'timed', 'aborted', 'try', 'handler'] as const;

export function lockOf(plan: LockPlan, client: LockClient, { sticky, overtakesPerWeight }: MutexSetup): Lock {
  const { is, path } = plan;
  switch (is) {
    case 'mutex':
      return {
        is,
        kinds: [...kinds, 're-entrant'],
        owner: { path, role: 'owner', lock: new InterProcessMutex(client, path, { sticky }) },
      };
    case 'weighted': {
      const lock = new InterProcessMutex(client, path, { weights: { overtakesPerWeight } });
      return { is, kinds: [...kinds, 're-entrant'], owner: { path, role: 'owner', lock, hasWeights: true } };
    }
    case 'election': {
      const election = new LeaderElection(client, path);
      const lock: Side['lock'] = {
        acquire: (options) => election.campaign(options),
        tryAcquire: (options) => election.campaign({ ...options, timeoutMs: 0 }),
      };
      const leader = async (): Promise<string> => (await election.leader())?.path ?? '';
      return { is, kinds: [...kinds, 're-entrant'], owner: { path, role: 'owner', lock, leader } };
    }
    case 'read-write': {
      const { readLock, writeLock } = new InterProcessReadWriteLock(client, path);
      return {
        is,
        kinds: [...kinds, 're-entrant', 'downgrade'],
        reader: { path, role: 'reader', lock: readLock },
        writer: { path, role: 'writer', lock: writeLock },
      };
    }
    case 'semaphore': {
      const semaphore = new InterProcessSemaphore(client, path, { maxLeases: plan.maxLeases });
      return { is, kinds: [...kinds, 'many'], lease: { path, role: 'lease', lock: semaphore }, semaphore };
    }
  }
}
