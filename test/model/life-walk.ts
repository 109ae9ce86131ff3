import { newLife, overdueAt, type Life } from '../../src/zookeeper/session/life.ts';
import { beforeGrant, isActive } from '../../src/zookeeper/session/proof-schedule.ts';
import { deadlineOf } from '../../src/zookeeper/session/session-clock.ts';
import type { Fact, Order, step } from '../../src/zookeeper/session/session-life.ts';

export type Rules = typeof step;

const timeoutMs = 2_400;

interface Request {
  readonly is: 'heartbeat' | 'extra' | 'sync' | 'ping' | 'close';
  readonly sentAt: number;
}

/** One session and its connection. Every field is a value, so each world can have several successors. */
interface World {
  readonly now: number;
  readonly life: Life;
  /** The requests on the present connection whose answers are due, the oldest first. */
  readonly requests: readonly Request[];
  readonly isUp: boolean;
  readonly isPolling: boolean;
  /** The number of orders `attach` that have no order `end-attach` yet. */
  readonly attaches: number;
  /** The time of the last event that may cause writes: a need, a wish, a connection. */
  readonly usedAt: number;
  /** The newest time that the servers may count for the session. */
  readonly newestSentAt: number;
}

type Move = (world: World) => World | undefined;

/** Walks through every order of events up to a depth, and throws at the first rule that is broken. */
export class LifeWalk {
  readonly #rules: Rules;
  readonly seen = new Map<Order['do'], number>();
  steps = 0;

  constructor(rules: Rules) {
    this.#rules = rules;
  }

  explore(depth: number): void {
    const life = newLife({ tickTimeMs: undefined, connectBy: -Infinity, hosts: 1, isResumed: false });
    const start = { now: 0, life, requests: [], isUp: false, isPolling: false, attaches: 0 };
    this.#walk({ ...start, usedAt: 0, newestSentAt: -Infinity }, depth, []);
  }

  #walk(world: World, depth: number, path: readonly string[]): void {
    if (depth === 0 || world.life.state.at === 'ended') return;
    for (const [name, move] of this.#moves) {
      let next: World | undefined;
      try {
        next = move(world);
        if (next) check(next);
      } catch (error) {
        throw new Error(`${String(error)}, after: ${[...path, name].join(', ')}`, { cause: error });
      }
      if (next) this.#walk(next, depth - 1, [...path, name]);
    }
  }

  readonly #moves: readonly (readonly [string, Move])[] = [
    ['granted', (world) => this.#granted(world)],
    ['answer', (world) => this.#answer(world)],
    ['cut', (world) => (world.isUp ? this.#feed({ ...world, isUp: false, requests: [] }, { is: 'cut' }) : undefined)],
    ['wake', (world) => this.#wake(world, 0)],
    ['late', (world) => this.#wake(world, timeoutMs)],
    [
      'hold',
      (world) =>
        world.life.holds < 1 && mayHold(world) ? this.#used(world, { is: 'held', ...owed(world) }) : undefined,
    ],
    ['free', (world) => (world.life.holds > 0 ? this.#used(world, { is: 'freed' }) : undefined)],
    ['attach', (world) => this.#used(world, { is: 'attach-wanted' })],
    ['prove', (world) => (world.isUp && isBusy(world) ? this.#used(world, { is: 'proof-wanted' }) : undefined)],
    [
      'attach fails',
      (world) => (world.life.attach === 'dialling' ? this.#used(world, { is: 'attach-failed' }) : undefined),
    ],
    ['close', (world) => (world.life.state.at === 'closing' ? undefined : this.#feed(world, { is: 'close' }))],
  ];

  #used(world: World, fact: Fact): World {
    return this.#feed({ ...world, usedAt: world.now }, fact);
  }

  /** The first connection, the next one, or the one that an attach has made. */
  #granted(world: World): World | undefined {
    if (world.isUp && world.life.attach !== 'dialling') return undefined;
    const now = world.now + 10;
    const { epoch } = world.life;
    const isLost = world.requests.some(({ is }) => is === 'heartbeat');
    const before = { ...world, now, isUp: true, requests: [], usedAt: now };
    const next = this.#feed(before, { is: 'granted', sentAt: world.now, timeoutMs });
    // The promises of the old connection's requests reject afterwards.
    return isLost ? this.#feed(next, { is: 'beaten', isAnswered: false, epoch, ...owed(next) }) : next;
  }

  #answer(world: World): World | undefined {
    const [request, ...requests] = world.requests;
    if (!request) return undefined;
    const now = world.now + 10;
    const { is, sentAt } = request;
    const newestSentAt = is === 'ping' || is === 'sync' ? world.newestSentAt : Math.max(world.newestSentAt, sentAt);
    const before = { ...world, now, requests, newestSentAt };
    if (is === 'ping') return this.#feed(before, { is: 'ponged', sentAt });
    if (is === 'close') return this.#feed(before, { is: 'end', why: 'closed' });
    const kind = is === 'sync' ? 'sync' : 'write';
    const next = this.#feed(before, { is: 'answered', kind, sentAt, answeredAt: now });
    if (is !== 'heartbeat') return next;
    const { epoch } = next.life;
    const beaten = this.#feed(next, { is: 'beaten', isAnswered: true, epoch, ...owed(next) });
    return this.#sent(beaten, 'sync');
  }

  #wake(world: World, lateMs: number): World | undefined {
    if (world.isPolling) return this.#feed({ ...world, isPolling: false }, { is: 'polled', ...owed(world) });
    if (world.life.wakeAt === Infinity) return undefined;
    const next = { ...world, now: Math.max(world.now, world.life.wakeAt) + lateMs };
    return this.#feed(next, { is: 'tick', hasZnodes: true, ...owed(next) });
  }

  #feed(world: World, fact: Fact): World {
    this.steps += 1;
    const { life, orders } = this.#rules(world.life, fact, world.now);
    return orders.reduce<World>((next, order) => this.#carriedOut(next, order), { ...world, life });
  }

  #carriedOut(world: World, order: Order): World {
    this.seen.set(order.do, (this.seen.get(order.do) ?? 0) + 1);
    const { life, now } = world;
    switch (order.do) {
      case 'prove':
        rule(isUsed(world), 'a quiet session writes');
        return this.#sent(world, order.as);
      case 'sync':
      case 'ping':
        return this.#sent(world, order.do);
      case 'ask-to-close':
        return this.#sent(world, 'close');
      case 'attach':
        return { ...world, attaches: world.attaches + 1 };
      case 'end-attach':
        rule(world.attaches === 1, 'an attach ends twice');
        return { ...world, attaches: 0 };
      case 'poll':
        return { ...world, isPolling: true };
      case 'drop':
        return { ...this.#feed({ ...world, isUp: false, requests: [] }, { is: 'cut' }) };
      case 'resume':
        rule(life.holds === 0 || now < overdueAt(life), 'a connection counts after the deadline of a hold');
        return this.#feed(world, { is: 'resumed' });
      case 'end':
        rule(order.why !== 'lost' || now >= deadlineOf(life.proof), 'a hold is lost before its deadline');
        return { ...world, isUp: false, requests: [] };
      default:
        return world;
    }
  }

  #sent(world: World, is: Request['is']): World {
    const requests = world.isUp ? [...world.requests, { is, sentAt: world.now }] : world.requests;
    const next = { ...world, requests };
    return this.#feed(next, { is: 'sent', ...owed(next) });
  }
}

function owed({ requests }: World): { readonly owedSince: number | undefined } {
  return { owedSince: requests[0]?.sentAt };
}

/** As before each grant: see `needsProof`. */
function mayHold({ life, now }: World): boolean {
  return beforeGrant(life, life.proof, now) === 'nothing';
}

/** True if the session sends heartbeats. */
function isBusy({ life, now }: World): boolean {
  return life.state.at === 'connected' && isActive(life, now, timeoutMs);
}

function isUsed({ life, now, usedAt }: World): boolean {
  return life.holds > 0 || life.attach !== 'none' || now < usedAt + timeoutMs * 2;
}

/** The rules that hold after each event. */
function check(world: World): void {
  const { life, now, requests, isPolling } = world;
  const { state } = life;
  const deadline = deadlineOf(life.proof);
  rule(
    !(deadline > Math.max(world.newestSentAt, life.answeredSentAt) + timeoutMs * 0.9),
    'the deadline lies too far ahead',
  );
  rule(requests.filter(({ is }) => is === 'heartbeat').length < 2, 'two heartbeats are under way');
  rule(world.attaches > 0 === (life.attach !== 'none'), 'the callers of an attach are not told of its end');
  if (state.at === 'ended') {
    rule(life.wakeAt === Infinity, 'an ended session wakes up');
    rule(world.attaches === 0, 'the callers of an attach are not told of the end of the session');
  }
  if (state.at !== 'connected' || isPolling) return;
  const hasHeartbeat = requests.some(({ is }) => is === 'heartbeat');
  rule(life.wakeAt < Infinity, 'the session never wakes up');
  rule(state.pulseAt < Infinity || hasHeartbeat, 'no heartbeat is under way, and none is due');
  rule(life.attach !== 'proving' || hasHeartbeat, 'an attach goes on after its write');
  if (life.holds > 0 && deadline > now)
    rule(life.wakeAt <= deadline, 'the session wakes up after the deadline of a hold');
  if (life.holds > 0 && requests[0]) {
    const silentAt = Math.max(now, requests[0].sentAt + timeoutMs / 4);
    rule(life.wakeAt <= silentAt, 'the session wakes up too late for a silent server');
  }
}

function rule(isKept: boolean, otherwise: string): void {
  if (!isKept) throw new Error(otherwise);
}
