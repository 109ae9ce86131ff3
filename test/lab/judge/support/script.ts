import { check } from '../../../../chaos/check.ts';
import type { History } from '../../../../lab/judge/folded-history.ts';
import type { CallKind, HistoryEvent, OwnerEvent, Role } from '../../../../lab/judge/history.ts';
import { parseHistory } from '../../../../chaos/read-history.ts';

export const sessionTimeoutMs = 4_000;

type Untimed<T> = T extends { readonly t: number } ? Omit<T, 't'> : never;

export interface HoldPlan {
  readonly path?: string;
  readonly kind?: CallKind;
  readonly role?: Role;
  readonly flow?: string;
  readonly znode?: string;
  readonly weight?: number;
  readonly timeoutMs?: number;
  readonly call: number;
  readonly granted: number;
  readonly token: number;
  /**
   * The time of the release. A role that writes also writes once before it. If absent, the hold is left open, and
   * nothing is written.
   */
  readonly until?: number;
}

/** A history that is written by hand. */
export class Script {
  readonly #clients: readonly string[];
  readonly #paths: readonly string[];
  #events: HistoryEvent[] = [];

  constructor(
    clients: readonly string[] = ['c1', 'c2'],
    paths: readonly string[] = ['/a', '/b'],
    leases: Readonly<Record<string, number>> = {},
    peers: readonly string[] = [],
  ) {
    this.#clients = clients;
    this.#paths = paths;
    this.say(0, { type: 'run', seed: 7, minutes: 1, sessionTimeoutMs, paths, clients, leases, peers });
    for (const client of clients) this.say(1, { type: 'started', client, incarnation: 1 });
  }

  say(t: number, event: Untimed<HistoryEvent>): this {
    this.#events.push({ t, ...event });
    return this;
  }

  /** Events of one acquire. */
  own(client: string, id: string, t: number, event: OwnerEvent): this {
    return this.say(t, { client, id, ...event });
  }

  hold(
    client: string,
    id: string,
    {
      path = '/a',
      kind = 'plain',
      role = 'owner',
      flow = id,
      weight,
      timeoutMs,
      call,
      granted,
      token,
      znode = `${path}/lock-${token}`,
      until,
    }: HoldPlan,
  ): this {
    this.own(client, id, call, {
      type: 'call',
      path,
      kind,
      flow,
      role,
      ...(weight === undefined ? {} : { weight }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    });
    this.own(client, id, granted, { type: 'granted', path, hold: znode, token: `${token}`, valid: true });
    if (until === undefined) return this;
    if (role === 'reader' || role === 'lease') return this.release(client, id, until);
    const middle = (granted + until) / 2;
    return this.write(client, id, `${id}/1`, { path, token, sent: middle, done: middle }).release(client, id, until);
  }

  /**
   * The events of a peer: looks at these times confirm that its znode exists. Without `until`, the peer never releases.
   */
  peer(
    client: string,
    id: string,
    { path = '/a', role = 'owner', call, granted, looks, token, until }: PeerPlan,
  ): this {
    this.hold(client, id, { path, role, kind: 'timed', timeoutMs: 3_000, call, granted, token });
    for (const t of looks) this.look(client, id, t, true);
    return until === undefined ? this : this.own(client, id, until, { type: 'released', outcome: 'released' });
  }

  write(
    client: string,
    id: string,
    write: string,
    { path = '/a', token, sent, valid = true, done, accepted = true, after = true }: WritePlan,
  ): this {
    this.own(client, id, sent, { type: 'write', write, valid });
    this.say(done, { type: 'register', path, write, token: `${token}`, accepted, largest: `${token}` });
    return this.own(client, id, done, { type: 'written', write, accepted, valid: after });
  }

  look(client: string, id: string, t: number, valid: boolean): this {
    return this.own(client, id, t, { type: 'look', valid });
  }

  /** The signal reports the loss, the job notices it, and releases at once. */
  lose(client: string, id: string, t: number, reason = 'session-deadline'): this {
    this.own(client, id, t, { type: 'lost', reason });
    return this.release(client, id, t + 1, 'lost');
  }

  release(client: string, id: string, t: number, outcome: 'released' | 'lost' = 'released'): this {
    this.own(client, id, t, { type: 'releasing', valid: outcome === 'released' });
    return this.own(client, id, t, { type: 'released', outcome });
  }

  fault(kind: string, target: string, from: number, to: number, clients: readonly string[] = [target]): this {
    const fault = `f${this.#events.length}`;
    this.say(from, {
      type: 'fault',
      fault,
      kind,
      target,
      clients,
      isStopped: kind === 'stop-client' || kind === 'stall-client',
    });
    return this.say(to, { type: 'healed', fault });
  }

  /** All clients leave, and nothing is left over. */
  end(t: number): this {
    for (const client of this.#clients) this.say(t, { type: 'left', client });
    return this.say(t + 10, {
      type: 'end',
      left: {},
      watches: 0,
      emptyAfterMs: Object.fromEntries(this.#paths.map((path) => [path, 1])),
    });
  }

  without(is: (event: HistoryEvent) => boolean): this {
    this.#events = this.#events.filter((event) => !is(event));
    return this;
  }

  get text(): string {
    return this.#events.map((event) => `${JSON.stringify(event)}\n`).join('');
  }

  get history(): History {
    return parseHistory(this.text);
  }

  /** The names of the checks with a violation, each once. */
  get findings(): string[] {
    return findingsOf(this.text);
  }
}

export function findingsOf(text: string): string[] {
  return [...new Set(check(parseHistory(text)).violations.map((violation) => violation.check))].sort();
}

interface PeerPlan {
  readonly path?: string;
  readonly role?: Role;
  readonly call: number;
  readonly granted: number;
  readonly looks: readonly number[];
  readonly token: number;
  readonly until?: number;
}

interface WritePlan {
  readonly path?: string;
  readonly token: number;
  readonly sent: number;
  readonly valid?: boolean;
  readonly done: number;
  readonly accepted?: boolean;
  readonly after?: boolean;
}

/**
 * Two clients that each held a lock once in the first second, and that leave after a minute. The test adds the events
 * in between.
 */
export function calm(leases: Readonly<Record<string, number>> = {}): Script {
  return new Script(['c1', 'c2'], ['/a', '/b'], leases)
    .hold('c1', 'c1-first', { call: 10, granted: 20, until: 30, token: 1 })
    .hold('c2', 'c2-first', { call: 11, granted: 40, until: 50, token: 2 })
    .hold('c2', 'c2-other', { path: '/b', call: 20, granted: 30, until: 60, token: 3 })
    .end(60_000);
}
