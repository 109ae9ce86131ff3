import type { Fault, LockPlan, Plan, Strike } from './plan.ts';
import { Simulation, type Outcome } from './simulation.ts';

/** Every fault of the ground at every message of acquire, wait, hand-over and release; or every pair of faults. */
export async function exhaust(
  ground: Ground,
  failed: (plan: Plan, outcome: Outcome) => Promise<void> | void,
): Promise<Exhausted> {
  const plain = planOf(ground);
  const kinds = ground.members === 1 ? clientFaults : [...clientFaults, ...serverFaults(ground.members)];
  const [first, last] = await messagesOf(plain);
  const singles: Strike[] = [];
  for (let message = first; message <= last; message += 1) for (const kind of kinds) singles.push({ message, ...kind });
  let runs = 0;
  const run = async (strikes: readonly Strike[]): Promise<void> => {
    const plan = { ...plain, strikes };
    const outcome = await new Simulation(plan).run();
    runs += 1;
    if (outcome.violations.length > 0) await failed(plan, outcome);
  };
  for (const strikes of ground.atOnce === 1 ? singles.map((strike) => [strike]) : pairsOf(singles)) await run(strikes);
  return { messages: last - first + 1, kinds: kinds.length, runs };
}

/** A small run, and the faults that strike it. */
export interface Ground {
  readonly clients: number;
  readonly members: number;
  readonly lock: LockPlan;
  /** True if each holder writes by a transaction of its hold. */
  readonly writes: boolean;
  /** 1: every single fault. 2: every pair of faults, at two messages or at the same one. */
  readonly atOnce: 1 | 2;
}

const mutex: LockPlan = { path: '/locks/a', is: 'mutex' };

/** The runs of `--exhaustive`. With several servers, a fault of a server strikes too. */
export const grounds: readonly Ground[] = [
  { clients: 3, members: 1, lock: mutex, writes: false, atOnce: 1 },
  { clients: 3, members: 1, lock: mutex, writes: true, atOnce: 1 },
  { clients: 3, members: 1, lock: { path: '/locks/a', is: 'election', protocol: 'latch' }, writes: true, atOnce: 1 },
  { clients: 3, members: 3, lock: mutex, writes: true, atOnce: 1 },
  { clients: 2, members: 1, lock: mutex, writes: false, atOnce: 2 },
];

export interface Exhausted {
  /** The messages of the run without faults. */
  readonly messages: number;
  readonly kinds: number;
  readonly runs: number;
}

/** Every two strikes at two messages, and every two kinds of strikes at one message, in either order. */
export function pairsOf(singles: readonly Strike[]): Strike[][] {
  return singles.flatMap((strike) =>
    singles
      .filter(
        ({ message, fault }) => message > strike.message || (message === strike.message && fault !== strike.fault),
      )
      .map((other) => [strike, other]),
  );
}

/** The numbers of the first and the last message between the first call and the last release. */
async function messagesOf(plan: Plan): Promise<[first: number, last: number]> {
  const simulation = new Simulation(plan);
  let first = 0;
  const { network, clients } = simulation.world;
  let last = 0;
  network.onMessage = ({ number }) => {
    const isBusy = clients.some(({ open }) => open > 0);
    if (isBusy && first === 0) first = number;
    if (isBusy) last = number;
  };
  await simulation.run();
  return [first, last];
}

const sessionTimeoutMs = 2_000;

function planOf({ clients, members, lock, writes }: Ground): Plan {
  return {
    seed: 1,
    members,
    tickTimeMs: 500,
    sessionTimeoutMs,
    leastDelayMs: 1,
    mostDelayMs: 2,
    knowsTick: false,
    processes: Array.from({ length: clients }, () => ({ clients: 1, clockRate: 1, clockOffsetMs: 0 })),
    locks: [lock],
    steps: Array.from({ length: clients }, (_, client) => ({
      at: 200 + client * 10,
      do: 'call',
      client,
      lock: 0,
      how: 'plain',
      role: 'owner',
      holdMs: 40,
      ...(writes && { writes: [{ afterMs: 20, fails: false, floats: false }] }),
    })),
  };
}

/** The faults of the client whose message it is, of its process and of its connection. */
const clientFaults: readonly Kind[] = [
  // The message is lost, and both ends notice.
  strike('before', { do: 'reset', client: 0, loses: 'both' }),
  // A request arrives, and its answer is lost.
  strike('behind', { do: 'reset', client: 0, loses: 'answers' }),
  // The message arrives, and then the connection breaks.
  strike('behind', { do: 'reset', client: 0, loses: 'nothing' }),
  strike('before', { do: 'half-open', client: 0, direction: 'both', forMs: sessionTimeoutMs * 0.4 }),
  strike('before', { do: 'half-open', client: 0, direction: 'both', forMs: sessionTimeoutMs * 2 }),
  strike('before', { do: 'half-open', client: 0, direction: 'to client', forMs: sessionTimeoutMs }),
  strike('before', { do: 'slow', client: 0, byMs: sessionTimeoutMs / 3, forMs: 1 }),
  strike('behind', { do: 'attach', client: 0, member: 0 }),
  strike('behind', { do: 'stall', process: 0, forMs: sessionTimeoutMs * 1.5 }),
  strike('behind', { do: 'crash', process: 0, isSilent: true, restartAfterMs: sessionTimeoutMs }),
  strike('before', { do: 'expire', client: 0 }),
  strike('behind', { do: 'delete', lock: 0, index: 0 }),
  strike('behind', { do: 'delete', lock: 0, index: 1 }),
];

/** Each server crashes or is cut off, and the leader is deposed: for a short time, and for longer than a session lives. */
function serverFaults(members: number): Kind[] {
  return [0.4, 2].flatMap((timeouts) => {
    const forMs = sessionTimeoutMs * timeouts;
    const each = Array.from({ length: members }, (_, member) =>
      (['crash', 'cut'] as const).map((how) => strike('before', { do: 'server', member, how, forMs })),
    );
    return [...each.flat(), strike('before', { do: 'server', member: 0, how: 'depose', forMs })];
  });
}

type Kind = Omit<Strike, 'message'>;

function strike(when: Strike['when'], fault: Fault): Kind {
  return { when, fault };
}
