import type { Roles, Trio } from '../lab/servers/trio.ts';
import type { Random } from '../lab/random.ts';
import type { Observer } from '../lab/wire/observer.ts';
import type { ClientProcess } from './client-process.ts';

/** The parts of a run that a fault can act on. */
export interface World {
  readonly trio: Trio;
  readonly clients: readonly ClientProcess[];
  /** Has a connection of its own, which no fault of a client's link hits. */
  readonly observer: Observer;
  /** The folders that contain the znodes of the locks. */
  readonly folders: readonly string[];
  readonly random: Random;
  readonly sessionTimeoutMs: number;
}

export interface Fault {
  /** The target of the fault, as the history records it. */
  readonly target: string;
  /** The names of the clients that may lose a hold by it. */
  readonly clients: readonly string[];
  /** True if the code of these clients does not run during the fault. */
  readonly isStopped?: boolean;
  /** The length of the fault; drawn by the nemesis if absent. */
  readonly lastsMs?: number;
  begin(): unknown;
  /** If it is a promise, it resolves when everything is as before. */
  heal(): unknown;
}

/** Returns undefined if the fault has no possible target. */
export type FaultKind = (world: World, roles: Roles) => Promise<Fault | undefined> | Fault | undefined;
