import { InterProcessMutex, InterProcessReadWriteLock, InterProcessSemaphore, type Hold, type LockClient } from '../../src/index.ts';
import type { CallKind, Role } from '../history.ts';
import type { LockPlan } from '../lock-plan.ts';

/** What can be asked for, in one role. */
export interface Side {
  readonly path: string;
  readonly role: Role;
  readonly lock: {
    acquire(options?: { readonly timeoutMs?: number; readonly signal?: AbortSignal }): Promise<Hold>;
    tryAcquire(): Promise<Hold | undefined>;
  };
}

/** A lock, and what an owner can do with it. */
export type Lock = { readonly kinds: readonly [CallKind, ...CallKind[]] } & (
  | { readonly is: 'mutex'; readonly owner: Side }
  | { readonly is: 'read-write'; readonly reader: Side; readonly writer: Side }
  | { readonly is: 'semaphore'; readonly lease: Side; readonly semaphore: InterProcessSemaphore }
);

const kinds = ['plain', 'plain', 'plain', 'long', 'timed', 'aborted', 'try', 'handler'] as const;

export function lockOf(plan: LockPlan, client: LockClient, sticky: { readonly idleMs: number } | undefined): Lock {
  const { is, path } = plan;
  switch (is) {
    case 'mutex':
      return { is, kinds: [...kinds, 're-entrant'], owner: { path, role: 'owner', lock: new InterProcessMutex(client, path, { sticky }) } };
    case 'read-write': {
      const { readLock, writeLock } = new InterProcessReadWriteLock(client, path);
      return { is, kinds: [...kinds, 're-entrant', 'downgrade'], reader: { path, role: 'reader', lock: readLock }, writer: { path, role: 'writer', lock: writeLock } };
    }
    case 'semaphore': {
      const semaphore = new InterProcessSemaphore(client, path, { maxLeases: plan.maxLeases });
      return { is, kinds: [...kinds, 'many'], lease: { path, role: 'lease', lock: semaphore }, semaphore };
    }
  }
}
