import type { Claim } from '../../../simulation/claim.ts';
import type { Call, LockPlan, Role } from '../../../simulation/plan.ts';
import type { Bench } from '../../../simulation/rules/bench.ts';
import type { SimClient } from '../../../simulation/sim-client.ts';

/** The time, the znodes of the servers, and the znodes that were granted. It notes each check that fails. */
export class RuleBench implements Bench {
  /** The checks that failed. */
  readonly told: string[] = [];
  time = 0;
  /** The sessions of the ephemeral znodes. */
  readonly znodes = new Map<string, bigint>();
  readonly granted = new Set<string>();
  /** The data of the znodes that have any. */
  readonly data = new Map<string, Buffer>();

  readonly now = (): number => this.time;
  readonly wasGranted = (path: string): boolean => this.granted.has(path);
  readonly tell = (check: string): void => void this.told.push(check);
  readonly committed = () => ({
    children: (path: string) =>
      [...this.znodes.keys()]
        .filter((znode) => znode.startsWith(`${path}/`))
        .map((znode) => znode.slice(path.length + 1)),
    ownerOf: (path: string) => this.znodes.get(path),
    get: (path: string) => ({ data: this.data.get(path) ?? null, czxid: 0, ephemeralOwner: 0n }),
  });

  /** A grant of the n-th znode of `/locks/a`, which exists, to session `n`. */
  claim(n: number, made: ClaimMade = {}): Claim {
    const { flow = `#${n}`, role = 'owner', lock = { path: '/locks/a', is: 'mutex' }, call = {} } = made;
    const { grant = {}, isReentrant = false, grantNumber = 0n, client = simClient() } = made;
    const path = znode(n);
    this.znodes.set(path, BigInt(n));
    const aborter = new AbortController();
    const owner = { id: `p0c0#${n}`, flow, role, lock, call, client };
    const hold = { path, fencingToken: BigInt(n), grantNumber, isReentrant, grant, signal: aborter.signal };
    const rest = { path, sessionId: BigInt(n), at: this.time, calledAt: this.time, processAt: client.process.now };
    const claim = { owner, hold, ...rest, isReleased: false, isTold: false, isTaken: false };
    aborter.abort({ reason: made.lostBy });
    return claim as unknown as Claim;
  }
}

interface ClaimMade {
  readonly flow?: string;
  readonly role?: Role;
  readonly lock?: LockPlan;
  readonly call?: Partial<Call>;
  readonly client?: SimClient;
  readonly grant?: object;
  readonly isReentrant?: boolean;
  readonly grantNumber?: bigint;
  /** The reason of its loss. */
  readonly lostBy?: string;
}

export function znode(n: number): string {
  return `/locks/a/_c_1-lock-${String(n).padStart(10, '0')}`;
}

/** A process that runs, and whose clock stands at this time until a test moves it. */
export function processAt(now: number, its: object = {}) {
  const process = { now, stalledUntil: -1, isDead: false, shownAt: (): number => process.now, ...its };
  return process;
}

/** A client of a process that runs. */
export function simClient(its: object = {}): SimClient {
  const process = processAt(0);
  return {
    name: 'p0c0',
    process,
    open: 0,
    waits: 0,
    timers: 0,
    idleSince: 0,
    connectedAt: new Map(),
    ...its,
  } as unknown as SimClient;
}
