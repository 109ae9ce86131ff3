import type { CallKind, Role } from '../../../lab/judge/history.ts';
import { Script, sessionTimeoutMs } from '../../lab/judge/support/script.ts';

export type Fate =
  'none' | 'stop-client' | 'kill-client' | 'delete-znode' | 'close-session' | 'silent-link' | 'kill-leader';

export interface Call {
  /** An index modulo the number of clients, like `path` for the paths. */
  readonly client: number;
  readonly path: number;
  readonly kind: CallKind;
  /** If the path has readers. */
  readonly reads: boolean;
  readonly lengthMs: number;
  readonly waitLimitMs: number;
}

/** Calls that are made at once, and the fate of one of them while it holds its lock. */
export interface Round {
  readonly calls: readonly Call[];
  readonly fate: Fate;
  readonly victim: number;
}

const maxLeases = 2;

/**
 * The history of these rounds with a correct lock. Of every three paths, one is a mutex, one a read/write lock, and one
 * a semaphore.
 */
export function play(rounds: readonly Round[], clients: number, paths: number): Script {
  const writer = new ScriptWriter(clients, paths);
  // Every client and every path gets at least one grant.
  const calls = Array.from({ length: Math.max(clients, paths) }, (_, index): Call => ({
    client: index,
    path: index,
    kind: 'plain',
    reads: false,
    lengthMs: 1,
    waitLimitMs: 0,
  }));
  for (const round of [{ calls, fate: 'none', victim: 0 } as const, ...rounds]) writer.play(round);
  return writer.end();
}

class ScriptWriter {
  readonly #script: Script;
  readonly #clients: readonly string[];
  readonly #paths: readonly string[];
  readonly #incarnations = new Map<string, number>();
  /** The time at which each path becomes free. */
  readonly #free = new Map<string, Free>();
  #t = 10;
  #tokens = 0;

  constructor(clients: number, paths: number) {
    this.#clients = Array.from({ length: clients }, (_, index) => `c${index + 1}`);
    this.#paths = Array.from({ length: paths }, (_, index) => `/p${index + 1}`);
    this.#script = new Script(
      this.#clients,
      this.#paths,
      Object.fromEntries(this.#paths.filter((_, index) => index % 3 === 2).map((path) => [path, maxLeases])),
    );
    for (const path of this.#paths) this.#free.set(path, new Free());
  }

  play({ calls, fate, victim: place }: Round): void {
    const victim = calls[place % calls.length];
    const clientOf = (call: Call): string => this.#clients[call.client % this.#clients.length] ?? '';
    // The client that the fault hits makes no other call in this round.
    const spared = calls.filter(
      (call) => fate === 'none' || call === victim || victim === undefined || clientOf(call) !== clientOf(victim),
    );
    const start = this.#t;
    spared.forEach((call, index) =>
      this.#call(call, clientOf(call), start + index / 10, call === victim ? fate : 'none'),
    );
    this.#t += 5;
  }

  end(): Script {
    return this.#script.end(this.#t + 20_000);
  }

  #call({ path: place, kind, reads, lengthMs, waitLimitMs }: Call, client: string, call: number, fate: Fate): void {
    const path = this.#paths[place % this.#paths.length] ?? '';
    const token = (this.#tokens += 1);
    const id = `${client}-${token}`;
    const role = roleOn(place % this.#paths.length, reads);
    const granted = Math.max(call + 1, this.#freeOf(path).from(role) + 0.5);
    const waits = kind === 'try' ? 1 : kind === 'timed' || kind === 'aborted' ? waitLimitMs : Infinity;
    if (granted > call + waits) {
      this.#script.own(client, id, call, {
        type: 'call',
        path,
        kind,
        role,
        flow: id,
        ...(kind === 'timed' ? { timeoutMs: waitLimitMs } : {}),
      });
      this.#script.own(client, id, call + waits, { type: 'refused', outcome: kind === 'aborted' ? 'aborted' : 'none' });
      return;
    }
    const plan = { path, kind, role, call, granted, token };
    if (fate !== 'none') {
      this.#script.hold(client, id, plan).look(client, id, granted + 0.5, true);
      this.#goesOn(path, role, granted, this.#strike(fate, client, id, `${path}/lock-${token}`, granted + 1));
      return;
    }
    const until = granted + lengthMs;
    this.#script.hold(client, id, { ...plan, until }).look(client, id, granted + lengthMs / 3, true);
    this.#goesOn(path, role, granted, until);
    if (kind !== 're-entrant' || role === 'lease') return;
    this.#script.hold(client, `${id}-inner`, {
      ...plan,
      call: granted + lengthMs / 4,
      granted: granted + lengthMs / 4,
      until: until + 2,
      flow: id,
    });
    this.#goesOn(path, role, granted, until + 2);
  }

  /** Returns the time at which the path is free for the next owner. */
  #strike(fate: Exclude<Fate, 'none'>, client: string, id: string, znode: string, t: number): number {
    const script = this.#script;
    switch (fate) {
      case 'stop-client': {
        const resumed = t + sessionTimeoutMs + 3_000;
        script
          .fault(fate, client, t, resumed)
          .look(client, id, resumed + 1, false)
          .lose(client, id, resumed + 1);
        this.#reaches(resumed + 2);
        return t + sessionTimeoutMs + 500;
      }
      case 'kill-client': {
        const incarnation = (this.#incarnations.get(client) ?? 1) + 1;
        this.#incarnations.set(client, incarnation);
        script.fault(fate, client, t, t + 1_000).say(t + 1_200, { type: 'started', client, incarnation });
        this.#reaches(t + 1_200);
        return t + sessionTimeoutMs + 500;
      }
      case 'delete-znode':
        script
          .fault(fate, znode, t, t + 2, this.#clients)
          .look(client, id, t + 3, true)
          .lose(client, id, t + 10, 'node-deleted');
        this.#reaches(t + 11);
        return t + 1;
      case 'close-session':
        script
          .fault(fate, client, t, t + 5)
          .lose(client, id, t + 20, 'session-expired')
          .say(t + 21, { type: 'session', client, sessionId: '0x2' });
        this.#reaches(t + 21);
        return t + 3;
      case 'silent-link':
        script.fault(fate, client, t, t + 6_000).lose(client, id, t + 3_500);
        this.#reaches(t + 6_000);
        return t + sessionTimeoutMs + 100;
      case 'kill-leader':
        script.fault(fate, '127.0.0.1:1', t, t + 3_000, this.#clients).release(client, id, t + 3_200);
        return t + 3_200;
    }
  }

  #goesOn(path: string, role: Role, granted: number, until: number): void {
    this.#freeOf(path).take(role, granted, until);
    this.#reaches(until);
  }

  #freeOf(path: string): Free {
    const free = this.#free.get(path);
    if (free === undefined) throw new Error(`no path ${path}`);
    return free;
  }

  #reaches(t: number): void {
    this.#t = Math.max(this.#t, t);
  }
}

function roleOn(place: number, reads: boolean): Role {
  if (place % 3 === 0) return 'owner';
  if (place % 3 === 2) return 'lease';
  return reads ? 'reader' : 'writer';
}

/** The time at which a path becomes free, for each role. */
class Free {
  #ofWriters = 0;
  #ofAll = 0;
  #lastGrant = 0;
  readonly #ofLeases = Array.from({ length: maxLeases }, () => 0);

  from(role: Role): number {
    if (role === 'reader') return this.#ofWriters;
    return role === 'lease' ? Math.max(this.#lastGrant, Math.min(...this.#ofLeases)) : this.#ofAll;
  }

  take(role: Role, granted: number, until: number): void {
    this.#lastGrant = granted;
    if (role === 'lease') this.#ofLeases[this.#ofLeases.indexOf(Math.min(...this.#ofLeases))] = until;
    if (role === 'owner' || role === 'writer') this.#ofWriters = until;
    this.#ofAll = Math.max(this.#ofAll, until);
  }
}
