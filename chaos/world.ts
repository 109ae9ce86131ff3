import type { Roles, Trio } from '../harness/trio.ts';
import type { Random } from '../harness/random.ts';
import type { Observer } from '../harness/observer.ts';
import type { ClientProcess } from './client-process.ts';

/** What faults are made in. */
export interface World {
  readonly trio: Trio;
  readonly clients: readonly ClientProcess[];
  /** Somebody with a connection of its own, whom no fault of a client's link meets. */
  readonly observer: Observer;
  /** Where the znodes of the locks are. */
  readonly folders: readonly string[];
  readonly random: Random;
  readonly sessionTimeoutMs: number;
}

export interface Fault {
  /** What it hit, for the history. */
  readonly target: string;
  /** The names of the clients that may lose something by it. */
  readonly clients: readonly string[];
  /** Their code does not run meanwhile. */
  readonly isStopped?: boolean;
  /** How long it lasts; drawn by the nemesis where it is left out. */
  readonly lastsMs?: number;
  begin(): unknown;
  /** Resolves, where it is a promise, when all is as it was before. */
  heal(): unknown;
}

/** Undefined when there is nothing that it could hit. */
export type FaultKind = (world: World, roles: Roles) => Promise<Fault | undefined> | Fault | undefined;
