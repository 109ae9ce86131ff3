import type { CallKind, EndEvent, HistoryEvent, ListPart, Role, RunEvent } from './history.ts';

/** The events of a history, folded into acquires, processes and faults. */
export interface History {
  readonly run: RunEvent & { readonly t: number };
  /** Ordered by time, like every list below. */
  readonly events: readonly HistoryEvent[];
  readonly acquires: readonly Acquire[];
  /** The grants of each path. */
  readonly grants: ReadonlyMap<string, readonly Granted[]>;
  readonly incarnations: readonly Incarnation[];
  readonly faults: readonly Fault[];
  readonly registered: readonly Registered[];
  readonly writes: ReadonlyMap<string, Write>;
  readonly end: (EndEvent & { readonly t: number }) | undefined;
  readonly lastAt: number;
}

export interface Acquire {
  readonly id: string;
  readonly incarnation: Incarnation;
  readonly path: string;
  readonly kind: CallKind;
  readonly flow: string;
  readonly role: Role;
  /** Undefined if the lock has no weights. */
  readonly weight: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly calledAt: number;
  granted:
    | {
        readonly t: number;
        readonly hold: string;
        readonly token: bigint;
        readonly valid: boolean;
        readonly session?: string;
      }
    | undefined;
  refused:
    | { readonly t: number; readonly outcome: 'none' | 'aborted' | 'error'; readonly error: string | undefined }
    | undefined;
  /** Each value of `isValid` that the client read: at the grant, at looks, around writes, at the release. */
  readonly observations: Observation[];
  /** The numbers of its transactions that were done. */
  readonly guarded: bigint[];
  /** The values of the register that it read. */
  readonly reads: { readonly from: number; readonly to: number; readonly value: string }[];
  readonly lists: ListUse[];
  /** The leaders that it was shown while its own hold was valid. */
  readonly shown: { readonly t: number; readonly leader: string }[];
  lost: { readonly t: number; readonly reason: string } | undefined;
  releasingAt: number | undefined;
  released: { readonly t: number; readonly outcome: 'released' | 'lost' } | undefined;
}

export type Granted = Acquire & { readonly granted: NonNullable<Acquire['granted']> };

/** A look at the list of a path, and the number that was appended by what was read. */
export interface ListUse extends ListPart {
  readonly from: number;
  readonly readAt: number;
  readonly append: { readonly number: number; readonly part: number } | undefined;
  /** Undefined if the process died, or if nothing was appended. */
  appended: { readonly t: number; readonly outcome: 'ok' | 'fail' | 'info' } | undefined;
}

export interface Observation {
  readonly t: number;
  readonly valid: boolean;
}

export interface Write {
  readonly acquire: Acquire;
  readonly sent: Observation;
  answered: (Observation & { readonly accepted: boolean }) | undefined;
}

export type Registered = Extract<HistoryEvent, { readonly type: 'register' }>;

/** One process of a client. */
export interface Incarnation {
  readonly client: string;
  /** True if the client is not this library. */
  readonly isPeer: boolean;
  readonly number: number;
  readonly startedAt: number;
  leftAt: number | undefined;
  /** When a fault killed it. It may have run for a moment longer. */
  killedAt: number | undefined;
  /** When the next process of this client started. */
  succeededAt: number | undefined;
  /** The times at which its session or its connection changed, or at which it lost a hold. */
  readonly upsets: number[];
}

export interface Fault {
  readonly fault: string;
  readonly kind: string;
  readonly target: string;
  readonly clients: readonly string[];
  readonly isStopped: boolean;
  readonly beganAt: number;
  /** Infinity if the fault was never healed. */
  healedAt: number;
}

/**
 * Folds events, which must be ordered by time.
 *
 * @throws Error if an event cannot follow those before it
 */
export function fold(events: readonly HistoryEvent[]): History {
  const [run] = events;
  if (run?.type !== 'run') throw new Error('Expected a history to begin with `run`');
  const acquires = new Map<string, Acquire>();
  const granted: Acquire[] = [];
  const latest = new Map<string, Incarnation>();
  const incarnations: Incarnation[] = [];
  const faults = new Map<string, Fault>();
  const registered: Registered[] = [];
  const writes = new Map<string, Write>();
  let end: History['end'];
  for (const event of events) {
    switch (event.type) {
      case 'run':
        if (event !== run) throw new Error('Expected one `run`, got another');
        break;
      case 'end':
        end = event;
        break;
      case 'register':
        registered.push(event);
        break;
      case 'fault': {
        const { t, fault, kind, target, clients, isStopped } = event;
        faults.set(fault, { fault, kind, target, clients, isStopped, beganAt: t, healedAt: Infinity });
        if (kind === 'kill-client') for (const client of clients) killed(latest.get(client), t);
        break;
      }
      case 'healed':
        known(faults, event.fault, event).healedAt = event.t;
        break;
      case 'started': {
        const { client, incarnation: number, t } = event;
        const earlier = latest.get(client);
        if (earlier) earlier.succeededAt = t;
        const incarnation: Incarnation = {
          client,
          isPeer: run.peers?.includes(client) ?? false,
          number,
          startedAt: t,
          leftAt: undefined,
          killedAt: undefined,
          succeededAt: undefined,
          upsets: [],
        };
        latest.set(client, incarnation);
        incarnations.push(incarnation);
        break;
      }
      case 'left':
        known(latest, event.client, event).leftAt = event.t;
        break;
      case 'session':
      case 'state':
        known(latest, event.client, event).upsets.push(event.t);
        break;
      case 'warning':
        break;
      case 'call': {
        const { id, path, kind, flow, role = 'owner', weight, timeoutMs, t: calledAt, client } = event;
        if (acquires.has(id)) throw new Error(`Expected one call of ${id}, got ${JSON.stringify(event)}`);
        const rest = {
          granted: undefined,
          refused: undefined,
          observations: [],
          guarded: [],
          reads: [],
          lists: [],
          shown: [],
          lost: undefined,
          releasingAt: undefined,
          released: undefined,
        };
        acquires.set(id, {
          id,
          path,
          kind,
          flow,
          role,
          weight,
          timeoutMs,
          calledAt,
          incarnation: known(latest, client, event),
          ...rest,
        });
        break;
      }
      default:
        follow(known(acquires, event.id, event), event, writes);
        // In one moment of virtual time many calls may be granted, one after another.
        if (event.type === 'granted') granted.push(known(acquires, event.id, event));
    }
  }
  const all = [...acquires.values()];
  const lastAt = events.at(-1)?.t ?? run.t;
  return {
    run,
    events,
    acquires: all,
    grants: grantsOf(granted),
    incarnations,
    faults: [...faults.values()],
    registered,
    writes,
    end,
    lastAt,
  };
}

type FollowUp = Extract<HistoryEvent, { readonly id: string }> & {
  readonly type: Exclude<Extract<HistoryEvent, { readonly id: string }>['type'], 'call'>;
};

function follow(acquire: Acquire, event: FollowUp, writes: Map<string, Write>): void {
  const { t } = event;
  if ('valid' in event) acquire.observations.push({ t, valid: event.valid });
  switch (event.type) {
    case 'granted':
      if (acquire.granted ?? acquire.refused)
        throw new Error(`Expected ${acquire.id} to settle once, got ${JSON.stringify(event)}`);
      acquire.granted = { t, hold: event.hold, token: BigInt(event.token), valid: event.valid };
      if (event.session !== undefined) acquire.granted = { ...acquire.granted, session: event.session };
      return;
    case 'refused':
      if (acquire.granted ?? acquire.refused)
        throw new Error(`Expected ${acquire.id} to settle once, got ${JSON.stringify(event)}`);
      acquire.refused = { t, outcome: event.outcome, error: event.error };
      return;
    case 'look':
      return;
    case 'lost':
      acquire.lost ??= { t, reason: event.reason };
      acquire.incarnation.upsets.push(t);
      return;
    case 'write':
      writes.set(event.write, { acquire, sent: { t, valid: event.valid }, answered: undefined });
      return;
    case 'written':
      known(writes, event.write, event).answered = { t, accepted: event.accepted, valid: event.valid };
      return;
    case 'guarded':
      acquire.guarded.push(BigInt(event.zxid));
      return;
    case 'read':
      acquire.reads.push({ from: t, to: event.answeredAt, value: event.value });
      return;
    case 'list': {
      const { answeredAt: readAt, part, numbers, append, to = part } = event;
      const added = append === undefined ? undefined : { number: append, part: to };
      acquire.lists.push({ from: t, readAt, part, numbers, append: added, appended: undefined });
      return;
    }
    case 'appended': {
      const use = acquire.lists.find(({ append }) => append?.number === event.append);
      if (use === undefined) throw new Error(`Expected to know the append before ${JSON.stringify(event)}`);
      use.appended = { t, outcome: event.outcome };
      return;
    }
    case 'leader':
      if (event.valid) acquire.shown.push({ t, leader: event.shown });
      return;
    case 'releasing':
      acquire.releasingAt ??= t;
      return;
    case 'released':
      acquire.released ??= { t, outcome: event.outcome };
  }
}

function killed(incarnation: Incarnation | undefined, at: number): void {
  if (incarnation) incarnation.killedAt ??= at;
}

function known<T>(all: ReadonlyMap<string, T>, key: string, event: HistoryEvent): T {
  const found = all.get(key);
  if (found === undefined) throw new Error(`Expected to know ${key} before ${JSON.stringify(event)}`);
  return found;
}

function grantsOf(acquires: readonly Acquire[]): Map<string, Granted[]> {
  const granted = acquires.filter((acquire): acquire is Granted => acquire.granted !== undefined);
  return grouped(
    granted.sort((a, b) => a.granted.t - b.granted.t),
    ({ path }) => path,
  );
}

/** Map.groupBy, which Node 20 lacks. */
export function grouped<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}
