import { expect } from 'chai';
import fc from 'fast-check';
import { WeightedLockModel, type Client } from '../model/weighted-lock.ts';

type Move =
  | { readonly is: 'arrive'; readonly weight: number; readonly overtakesPerWeight: number }
  | { readonly is: 'step' | 'step, and the answer is lost' | 'leave'; readonly who: number }
  | { readonly is: 'release' };

const moves = fc.array(
  fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({
        is: fc.constant('arrive' as const),
        weight: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 10 })),
        overtakesPerWeight: fc.constantFrom(1, 1, 1, 2, 10),
      }),
    },
    { weight: 12, arbitrary: fc.record({ is: fc.constant('step' as const), who: fc.nat() }) },
    {
      weight: 2,
      arbitrary: fc.record({
        is: fc.constantFrom('step, and the answer is lost' as const, 'leave' as const, 'leave' as const),
        who: fc.nat(),
      }),
    },
    { weight: 2, arbitrary: fc.constant({ is: 'release' as const }) },
  ),
  { minLength: 1, maxLength: 200, size: 'max' },
);
const numRuns = Number(process.env['MODEL_HISTORIES'] ?? 200);

/** Lets the clients take their next steps, in an order that `who` chooses, until no client has a next step. */
function settle(model: WeightedLockModel, who: () => number): void {
  for (let steps = 0; model.busy.length > 0; steps += 1) {
    if (steps > 100_000) throw new Error('The clients send requests without end, but make no progress');
    step(model, pick(model.busy, who()));
  }
}

function step(model: WeightedLockModel, client: Client | undefined, options = {}): void {
  if (client) model.step(client, options);
  // Plain code without chai, because this runs a hundred thousand times.
  const { holders } = model;
  if (holders.length > 1) throw new Error(`${holders.length} hold the lock`);
  if (holders[0] && holders[0].child.name !== model.holderByClaim)
    throw new Error(`${holders[0].child.name} holds the lock, but the claim names another znode`);
}

function play(model: WeightedLockModel, moves: readonly Move[]): void {
  for (const move of moves) {
    if (move.is === 'arrive') model.arrive(move.weight, move.overtakesPerWeight);
    else if (move.is === 'leave') leave(model, pick(model.waiters, move.who));
    else if (move.is === 'release') model.holders.forEach((client) => model.leave(client));
    else step(model, pick(model.busy, move.who), { isLost: move.is !== 'step' });
  }
}

function leave(model: WeightedLockModel, client: Client | undefined): void {
  if (client) model.leave(client);
}

function pick<T>(values: readonly T[], who: number): T | undefined {
  return values[who % values.length];
}

function numbersOf(seed: number): () => number {
  let last = seed;
  return () => (last = (Math.imul(last, 1_103_515_245) + 12_345) >>> 1);
}

describe('a lock with weights, in any interleaving of its clients', function () {
  this.timeout(20_000 + 20 * numRuns);

  it('no client sleeps while the lock is free, and every client is served in the end', () => {
    fc.assert(
      fc.property(moves, fc.nat(), (history, seed) => {
        const model = new WeightedLockModel();
        play(model, history);
        const who = numbersOf(seed);
        for (let left = model.clients.length; left > 0; left -= 1) {
          settle(model, who);
          expect(model.holders, `of ${model.clients.length} clients`).to.have.length(1);
          model.holders.forEach((client) => model.leave(client));
        }
        expect(model.clients).to.have.length(0);
      }),
      { numRuns },
    );
  });

  it('a client that is granted before an earlier one is heavier than every client that it overtakes, and no client is overtaken more often than it accepts', () => {
    fc.assert(
      fc.property(moves, fc.nat(), (history, seed) => {
        const model = new WeightedLockModel();
        play(model, history);
        for (let left = model.clients.length; left > 0; left -= 1) {
          settle(model, numbersOf(seed));
          model.holders.forEach((client) => model.leave(client));
        }
        const counts = new Map<string, number>();
        for (const { child, overtook } of model.grants) {
          for (const { child: passed } of overtook) {
            const before = counts.get(passed.name) ?? 0;
            const atMost = passed.overtakesPerWeight * Math.max(0, child.weight - passed.weight);
            if (before >= atMost) expect.fail(`${child.name} overtakes ${passed.name} once too often`);
            counts.set(passed.name, before + 1);
          }
        }
      }),
      { numRuns },
    );
  });

  it('a waiter that a lighter one holds back learns of the departure of that one, even if another waiter was next', () => {
    const model = new WeightedLockModel();
    const leaveAndSettle = (client: Client): void => {
      model.leave(client);
      settle(model, () => 0);
    };
    const first = model.arrive(10, 1);
    settle(model, () => 0);
    const five = model.arrive(5, 10);
    const four = model.arrive(4, 1);
    const [second, third] = [model.arrive(10, 1), model.arrive(10, 1)];
    const six = model.arrive(6, 1);
    leaveAndSettle(first);
    leaveAndSettle(second);
    // The waiter of weight 4 was overtaken twice, which is its limit for a difference of two: it lets no waiter pass
    // whose weight is below 7.
    expect(six.state).to.deep.include({ at: 'asleep', watch: four.child.name });
    expect(five.state).to.deep.include({ at: 'asleep', watch: third.child.name });
    leaveAndSettle(four);
    leaveAndSettle(third);
    expect(six.state.at).to.equal('holding');
    leaveAndSettle(six);
    expect(five.state.at).to.equal('holding');
  });

  it('tokens grow with every grant, and no claim stores more than nine steps of overtaking', () => {
    fc.assert(
      fc.property(moves, (history) => {
        const model = new WeightedLockModel();
        play(model, history);
        model.grants.reduce((last, { token }) => {
          expect(token).to.be.greaterThan(last);
          return token;
        }, 0);
        for (const { overtakers } of model.grants) expect(overtakers).to.be.at.most(9 * 10);
      }),
      { numRuns },
    );
  });

  it('a waiter of weight 1 is overtaken exactly as often as it accepts in an endless stream of heavier ones', () => {
    for (const overtakesPerWeight of [1, 3, 10]) {
      for (const weight of [2, 5, 10]) {
        const model = new WeightedLockModel();
        const first = model.arrive(10, overtakesPerWeight);
        settle(model, () => 0);
        const light = model.arrive(1, overtakesPerWeight);
        model.arrive(weight, overtakesPerWeight);
        model.leave(first);
        for (let rounds = 0; rounds < 1_000; rounds += 1) {
          settle(model, () => rounds);
          if (model.holders.includes(light)) break;
          model.arrive(weight, overtakesPerWeight);
          model.holders.forEach((client) => model.leave(client));
        }
        expect(light.overtaken).to.equal(overtakesPerWeight * (weight - 1));
      }
    }
  });
});
