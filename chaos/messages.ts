import type { LockPlan } from './lock-plan.ts';

/** The settings that a client process starts with. */
export interface ClientSetup {
  readonly client: string;
  readonly incarnation: number;
  readonly seed: number;
  readonly connectString: string;
  readonly sessionTimeoutMs: number;
  readonly tickTimeMs?: number | undefined;
  readonly registerPort: number;
  readonly locks: readonly LockPlan[];
  readonly owners: number;
  /** The `idleMs` of its sticky mutexes; undefined for mutexes that are not sticky. */
  readonly stickyIdleMs: number | undefined;
  /** True if its owners rest together at times, so that its session becomes quiet. */
  readonly rests: boolean;
  /** For its locks with weights; undefined for the default. */
  readonly overtakesPerWeight: number | undefined;
  /** The file to which it writes its events. */
  readonly file: string;
}

export type Order =
  /** Make no further calls; when all calls have settled, close the client and end. */
  | { readonly is: 'drain' }
  /** Block the event loop, then answer `awake`. */
  | { readonly is: 'stall'; readonly ms: number }
  /** Each current or next holder keeps its lock until then. */
  | { readonly is: 'keep'; readonly ms: number }
  /** Answer with the identity of the session. */
  | { readonly is: 'identify' };

/** The identity of a session, in hexadecimal digits. */
export interface Identity {
  readonly id: string;
  readonly password: string;
}
