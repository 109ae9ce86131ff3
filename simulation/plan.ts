/** All that happens in one simulation, before it runs. The same plan always runs in the same way. */
export interface Plan {
  readonly seed: number;
  readonly members: number;
  readonly tickTimeMs: number;
  readonly sessionTimeoutMs: number;
  readonly leastDelayMs: number;
  readonly mostDelayMs: number;
  /** The busy processes read their sockets only so often. A message takes `mostDelayMs` at most with this time. */
  readonly turnMs?: number;
  /** True if the clients know the servers' tick. */
  readonly knowsTick: boolean;
  readonly processes: readonly ProcessPlan[];
  readonly locks: readonly LockPlan[];
  /** The steps before the others, and how long they take. */
  readonly prologue?: { readonly steps: readonly Step[]; readonly forMs: number };
  /** In the order of their times, which begin after the prologue. */
  readonly steps: readonly Step[];
}

export interface ProcessPlan {
  readonly clients: number;
  readonly clockRate: number;
  readonly clockOffsetMs: number;
  /** True if it reads its sockets only once in `turnMs`. */
  readonly isBusy?: boolean;
}

export type LockPlan = {
  readonly path: string;
  /** True if the holders release when another client asks for the lock. */
  readonly isRevocable?: boolean;
} & (
  | { readonly is: 'mutex' | 'read-write' | 'semaphore-mutex' }
  | { readonly is: 'election'; readonly protocol: 'latch' | 'selector' }
  | { readonly is: 'sticky'; readonly idleMs: number }
  | { readonly is: 'weighted'; readonly overtakesPerWeight: number }
  /** `sharedCount`: the limit stands in a znode, where a fault may change it. It is `maxLeases` at most. */
  | { readonly is: 'semaphore'; readonly maxLeases: number; readonly sharedCount?: string }
);

/** One step: a call of an application, the close of a client, or a fault. `at`: virtual milliseconds. */
export type Step = { readonly at: number } & (Call | Burst | Close | Fault);

export interface Call {
  readonly do: 'call';
  readonly client: number;
  readonly lock: number;
  readonly how: How;
  readonly role: Role;
  readonly holdMs: number;
  readonly timeoutMs?: number;
  readonly abortAfterMs?: number;
  readonly leaseMs?: number;
  readonly renewEveryMs?: number;
  readonly weight?: number;
  /** The guarded writes of the job, in the order of their times. */
  readonly writes?: readonly WritePlan[];
  /** The job of a leader fails at its end. */
  readonly throws?: boolean;
  /** The job of a leader asks who leads. */
  readonly asksLeader?: boolean;
  /** The job ends as soon as its lock is lost. Other jobs go on until their time is over. */
  readonly heedsLoss?: boolean;
}

/** A guarded write: a transaction of the hold. */
export interface WritePlan {
  /** After the begin of the job; it may be after its end. Milliseconds. */
  readonly afterMs: number;
  /** True if the transaction has an operation that the servers must refuse. */
  readonly fails: boolean;
  /** True if the job does not wait for the answer. */
  readonly floats: boolean;
}

/** The application acquires so many other locks in one tick, each of which nobody else wants, and releases them. */
export interface Burst {
  readonly do: 'burst';
  readonly client: number;
  readonly locks: number;
  /** Until the burst is through, the answers to the client come over a link that passes so much. */
  readonly bytesPerSecond?: number;
}

/** The application closes a client, whatever its calls are doing. Another client takes its place afterwards. */
export interface Close {
  readonly do: 'close';
  readonly client: number;
  readonly timeoutMs: number;
  readonly successorAfterMs: number;
}

export type How =
  | 'plain'
  | 'try'
  | 'job'
  | 're-entrant'
  | 'downgrade'
  /** Three calls of one flow, as the handlers of three messages. */
  | 'handler'
  | 'many'
  /** Leads one term after another until it gives up. Only for an election. */
  | 'lead'
  /** The code of a job goes on after its job has ended, and acquires. */
  | 'outliving'
  /** A job starts a function of `lockContext.bind`, which acquires the same lock. */
  | 'bound'
  /** The lock and the next one together, as a multi-lock. */
  | 'multi';

export type Role = 'owner' | 'writer' | 'reader' | 'lease';

export type Fault =
  /** A connection breaks. `loses`: what was under way and never arrives. */
  | { readonly do: 'reset'; readonly client: number; readonly loses: 'both' | 'answers' | 'nothing' }
  /** Nothing passes on the present connections of a client, and nobody notices. */
  | {
      readonly do: 'half-open';
      readonly client: number;
      readonly direction: 'both' | 'to server' | 'to client';
      readonly forMs: number;
    }
  /** A process cannot reach a member. `isForNew`: the connections that it has stay. */
  | {
      readonly do: 'block';
      readonly process: number;
      readonly member: number;
      readonly how: 'refuses' | 'swallows';
      readonly isForNew: boolean;
      readonly forMs: number;
    }
  /** The next requests of a client are answered with THROTTLED_OP: it is to ask again later. */
  | { readonly do: 'throttle'; readonly client: number; readonly requests: number }
  | { readonly do: 'slow'; readonly client: number; readonly byMs: number; readonly forMs: number }
  /** A second connection attaches to the session of a client, as a request that was delayed in the network would. */
  | { readonly do: 'attach'; readonly client: number; readonly member: number }
  | { readonly do: 'stall'; readonly process: number; readonly forMs: number }
  | { readonly do: 'crash'; readonly process: number; readonly isSilent: boolean; readonly restartAfterMs: number }
  | { readonly do: 'expire'; readonly client: number }
  | { readonly do: 'delete'; readonly lock: number; readonly index: number }
  /** An operator writes the shared count of a semaphore. */
  | { readonly do: 'count'; readonly lock: number; readonly count: number }
  | { readonly do: 'force' | 'revoke'; readonly client: number; readonly lock: number }
  | Move
  /** The members have new names for good, and their old addresses refuse new connections. */
  | { readonly do: 'rename'; readonly lookupMs: number }
  /** All servers lose their data, and start again after this time. */
  | { readonly do: 'wipe'; readonly forMs: number }
  | { readonly do: 'server'; readonly member: number; readonly how: ServerFault; readonly forMs: number };

/** The function that an application passes in place of a connect string returns another list. */
export interface Move {
  readonly do: 'move';
  readonly to: readonly MovedHost[] | 'empty' | 'throws';
  /** The list comes so late, as that of a promise. 0: at once. */
  readonly afterMs: number;
  readonly forMs: number;
}

export interface MovedHost {
  readonly member: number;
  /** The member has a name, whose lookup takes so long. Without it: an address. */
  readonly lookupMs?: number;
}

/**
 * `slow`: the member takes a part of the session timeout for each message of another member, as on a slow disk. `stop`:
 * its process is stopped, and goes on later with all that has arrived meanwhile.
 */
export type ServerFault = 'crash' | 'cut' | 'depose' | 'slow' | 'stop';

export function clientsOf(processes: readonly ProcessPlan[]): number {
  return processes.reduce((sum, process) => sum + process.clients, 0);
}

export function isFault(step: Step): step is Step & Fault {
  return step.do !== 'call' && step.do !== 'burst' && step.do !== 'close';
}
