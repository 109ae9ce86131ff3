import type { LockPlan } from './lock-plan.ts';

/** What a client process is started with. */
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
  /** Its mutexes are kept for so long when nobody asks; undefined for the usual ones. */
  readonly stickyIdleMs: number | undefined;
  /** Of its locks with weights; undefined for the default. */
  readonly overtakesPerWeight: number | undefined;
  /** Where it writes what it does. */
  readonly file: string;
}

export type Order =
  /** No further calls; when all have settled, close and end. */
  | { readonly is: 'drain' }
  /** Block the event loop, then answer `awake`. */
  | { readonly is: 'stall'; readonly ms: number }
  /** Who holds, or gets to, goes on holding until then. */
  | { readonly is: 'keep'; readonly ms: number }
  /** Answer with the session's identity. */
  | { readonly is: 'identify' };

/** A session's identity, in hexadecimal digits. */
export interface Identity {
  readonly id: string;
  readonly password: string;
  readonly lastZxid: string;
}
