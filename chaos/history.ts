/**
 * What a run leaves behind: one JSON object a line, in the order of time. `t` is the machine's monotonic clock in
 * milliseconds, the same for all
 * processes; of a look at `isValid` it is the time before the look, of a fault that before it strikes, of healing that
 * after. Everything that is judged is judged by these lines alone.
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
  /** Of the paths that are semaphores: how many leases there are. */
  readonly leases?: Readonly<Record<string, number>>;
  /**
   * Of the clients: those that are not this library. They stand in the same queues; what is said of them is {@link
   * PeerNote}.
   */
  readonly peers?: readonly string[];
}

/**
 * A peer does not know whether its hold is valid. Its `valid` is what the servers said: that its znode was there at
 * some moment after `t`, and so,
 * as it has it already, at `t`. It is granted when its acquire has returned, and only if the znode was found
 * afterwards. It writes
 * nothing to the register, and says neither `lost` nor `releasing`.
 */
export type PeerNote = Extract<OwnerEvent, { readonly type: 'call' | 'granted' | 'refused' | 'look' | 'released' }>;

/**
 * As what one asks for a path. Readers share it with readers, leases with so many as there are; everybody else has it
 * alone.
 */
export type Role = 'owner' | 'writer' | 'reader' | 'lease';

/** What an owner does; `id` names one acquire, from its call to its end, and is unique in a run. */
export type OwnerEvent =
  /**
   * An acquire was called. `flow` is what may re-enter: two ids with one flow are one owner. `role`: where it is left
   * out, that of a mutex. `weight`: of a lock with weights.
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
   * It yielded a hold: the znode, with `#` and the count of its grant where that is not the first, its token, and
   * `isValid` right then.
   */
  | {
      readonly type: 'granted';
      readonly path: string;
      readonly hold: string;
      readonly token: string;
      readonly valid: boolean;
    }
  /** It yielded none: `none` for a tryAcquire or a timeout, else the code or the message of what it rejected with. */
  | { readonly type: 'refused'; readonly outcome: 'none' | 'aborted' | 'error'; readonly error?: string }
  /** The job looked at `isValid`. */
  | { readonly type: 'look'; readonly valid: boolean }
  /** The hold's signal aborted. */
  | { readonly type: 'lost'; readonly reason: string }
  /** A write was sent to the register of the path, with `isValid` right before. */
  | { readonly type: 'write'; readonly write: string; readonly valid: boolean }
  /** Its answer came, with `isValid` right after. */
  | { readonly type: 'written'; readonly write: string; readonly accepted: boolean; readonly valid: boolean }
  | { readonly type: 'releasing'; readonly valid: boolean }
  /** The last event of a granted id. */
  | { readonly type: 'released'; readonly outcome: 'released' | 'lost' };

export type CallKind = 'plain' | 'long' | 'timed' | 'aborted' | 'try' | 're-entrant' | 'downgrade' | 'handler' | 'many';

export type ClientEvent =
  | ({ readonly client: string; readonly id: string } & OwnerEvent)
  /** `incarnation` counts the processes of one client: what was under way in an earlier one died with it. */
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

/** The register of one path accepts a token that is at least the largest it has seen. */
export interface RegisterEvent {
  readonly type: 'register';
  readonly path: string;
  readonly write: string;
  readonly token: string;
  readonly accepted: boolean;
  readonly largest: string;
}

export type NemesisEvent =
  /** `clients`: whose sessions, processes or znodes it may hurt; `isStopped`: their code does not run meanwhile. */
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
 * After the last client has left, and all was healed: what is still on the servers, and when each path was seen empty.
 */
export interface EndEvent {
  readonly type: 'end';
  readonly left: Readonly<Record<string, readonly string[]>>;
  readonly watches: number;
  /** Milliseconds after the last client left; absent for a path that was not. */
  readonly emptyAfterMs: Readonly<Record<string, number>>;
}

export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** The znode of a hold. */
export function znodeOf(hold: string): string {
  return hold.split('#')[0] ?? hold;
}
