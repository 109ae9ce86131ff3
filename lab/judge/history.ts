/**
 * The file that a run writes: one JSON object per line, ordered by time. `t` is the machine's monotonic clock in
 * milliseconds, which is the same for all processes. For a read of `isValid`, `t` is the time before it; for a fault,
 * the time before it strikes; for its healing, the time after. The checks read these lines and nothing else.
 */
export type HistoryEvent = { readonly t: number } & (RunEvent | ClientEvent | RegisterEvent | NemesisEvent | EndEvent);

/** The first line. */
export interface RunEvent {
  readonly type: 'run';
  readonly seed: number;
  readonly minutes: number;
  readonly sessionTimeoutMs: number;
  readonly paths: readonly string[];
  readonly clients: readonly string[];
  /** The number of leases of each path that is a semaphore. */
  readonly leases?: Readonly<Record<string, number>>;
  /**
   * The names of the clients that are not this library. They use the same queues; {@link PeerNote} says what the
   * history records of them.
   */
  readonly peers?: readonly string[];
}

/**
 * A peer does not know if its hold is valid. Its `valid` is the answer of the servers: the znode existed at some moment
 * after `t`, and therefore at `t`, because the peer has it already. The peer counts as granted when its acquire has
 * returned, and only if the znode was found afterwards. It writes nothing to the register, and records neither `lost`
 * nor `releasing`.
 */
export type PeerNote = Extract<OwnerEvent, { readonly type: 'call' | 'granted' | 'refused' | 'look' | 'released' }>;

/**
 * The role in which a call uses a path. Readers share it with readers, and as many leases share it as there are; every
 * other role has it alone.
 */
export type Role = 'owner' | 'writer' | 'reader' | 'lease';

/** An event of an owner. `id` names one acquire, from its call to its end, and is unique in a run. */
export type OwnerEvent =
  /**
   * An acquire was called. A `flow` may re-enter: two ids with one flow are one owner. `role`: absent for a mutex.
   * `weight`: for a lock with weights.
   */
  | {
      readonly type: 'call';
      readonly path: string;
      readonly kind: CallKind;
      readonly flow: string;
      readonly role?: Role;
      readonly weight?: number;
      readonly timeoutMs?: number;
    }
  /**
   * The acquire returned a hold: its znode, followed by `#` and the grant number if that is not the first; its token;
   * and `isValid` at that moment.
   */
  | {
      readonly type: 'granted';
      readonly path: string;
      readonly hold: string;
      readonly token: string;
      readonly valid: boolean;
      /** The session of the znode, if the recorder knows it. */
      readonly session?: string;
    }
  /**
   * The acquire returned no hold: `none` for a tryAcquire or a timeout, otherwise the code or the message of the
   * rejection.
   */
  | { readonly type: 'refused'; readonly outcome: 'none' | 'aborted' | 'error'; readonly error?: string }
  /** The job read `isValid`. */
  | { readonly type: 'look'; readonly valid: boolean }
  /** The hold's signal aborted. */
  | { readonly type: 'lost'; readonly reason: string }
  /** A write was sent to the register of the path. `valid` is `isValid` right before. */
  | { readonly type: 'write'; readonly write: string; readonly valid: boolean }
  /** The register answered. `valid` is `isValid` right after. */
  | { readonly type: 'written'; readonly write: string; readonly accepted: boolean; readonly valid: boolean }
  /** It read the register of the path, and got the write that the register accepted last. `t` is before the request. */
  | { readonly type: 'read'; readonly value: string; readonly answeredAt: number }
  /**
   * It read the list of the path while it held the lock, `t` being the time before. With `append`: it now commits a
   * transaction that adds this number to the part `to`; `appended` tells with which outcome.
   */
  | ({ readonly type: 'list'; readonly answeredAt: number; readonly append?: number; readonly to?: number } & ListPart)
  /** `info`: nobody knows. */
  | { readonly type: 'appended'; readonly append: number; readonly outcome: 'ok' | 'fail' | 'info' }
  /** A transaction of the hold was done: its number. */
  | { readonly type: 'guarded'; readonly zxid: string }
  /** The job asked who leads, and got the znode of the leader, or an empty text. `valid` is `isValid` right after the answer. */
  | { readonly type: 'leader'; readonly shown: string; readonly valid: boolean }
  | { readonly type: 'releasing'; readonly valid: boolean }
  /** The last event of a granted id. */
  | { readonly type: 'released'; readonly outcome: 'released' | 'lost' };

export type CallKind = 'plain' | 'long' | 'timed' | 'aborted' | 'try' | 're-entrant' | 'downgrade' | 'handler' | 'many';

/** A list of numbers in the data of a znode. A full part is left, and the next begins empty. */
export interface ListPart {
  readonly part: number;
  readonly numbers: readonly number[];
}

export type ClientEvent =
  | ({ readonly client: string; readonly id: string } & OwnerEvent)
  /** `incarnation` counts the processes of one client. The calls of an earlier process died with it. */
  | { readonly client: string; readonly type: 'started'; readonly incarnation: number }
  | { readonly client: string; readonly type: 'session'; readonly sessionId: string }
  | { readonly client: string; readonly type: 'state'; readonly state: string }
  | {
      readonly client: string;
      readonly type: 'warning';
      readonly what: 'unhandledRejection' | 'uncaughtException' | 'warning';
      readonly error: string;
    }
  | { readonly client: string; readonly type: 'left' };

/** The register of one path accepts a token that is at least the largest it has received. */
export interface RegisterEvent {
  readonly type: 'register';
  readonly path: string;
  readonly write: string;
  readonly token: string;
  readonly accepted: boolean;
  readonly largest: string;
}

export type NemesisEvent =
  /**
   * `clients`: the clients whose sessions, processes or znodes the fault may hurt. `isStopped`: their code does not run
   * during the fault.
   */
  | {
      readonly type: 'fault';
      readonly fault: string;
      readonly kind: string;
      readonly target: string;
      readonly clients: readonly string[];
      readonly isStopped: boolean;
    }
  | { readonly type: 'healed'; readonly fault: string };

/**
 * Written after the last client has left and every fault is healed: what is left on the servers, and when each path was
 * empty.
 */
export interface EndEvent {
  readonly type: 'end';
  readonly left: Readonly<Record<string, readonly string[]>>;
  readonly watches: number;
  /** Milliseconds after the last client left. Absent for a path that was never empty. */
  readonly emptyAfterMs: Readonly<Record<string, number>>;
  /** The list of each path, read after all that was answered before. */
  readonly lists?: Readonly<Record<string, ListPart>>;
}

export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The number of a grant by its znode. */
export function grantNumberOf(hold: string): number {
  return Number(hold.split('#')[1] ?? 0);
}

/** The path of a hold's znode. */
export function znodeOf(hold: string): string {
  return hold.split('#')[0] ?? hold;
}
