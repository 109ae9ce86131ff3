import { expect } from 'chai';
import fc from 'fast-check';
import { check } from '../../chaos/check.ts';
import { play, type Call, type Fate, type Round } from './support/rounds.ts';
import type { Script } from '../lab/judge/support/script.ts';

const calls: fc.Arbitrary<Call> = fc.record({
  client: fc.nat(5),
  path: fc.nat(3),
  kind: fc.constantFrom('plain', 'long', 'timed', 'aborted', 'try', 're-entrant', 'handler'),
  reads: fc.boolean(),
  lengthMs: fc.integer({ min: 1, max: 1_200 }),
  waitLimitMs: fc.integer({ min: 0, max: 1_500 }),
});
const fates: fc.Arbitrary<Fate> = fc.constantFrom(
  'none',
  'stop-client',
  'kill-client',
  'delete-znode',
  'close-session',
  'silent-link',
  'kill-leader',
);
const round: fc.Arbitrary<Round> = fc.record({
  calls: fc.array(calls, { minLength: 1, maxLength: 12 }),
  fate: fates,
  victim: fc.nat(11),
});
const rounds = fc.array(round, { maxLength: 8 });
const clients = fc.integer({ min: 2, max: 6 });
const paths = fc.integer({ min: 1, max: 4 });

/**
 * False while the client's session is being closed, and while its code does not run: then its holds are excused. A
 * killed process starts again a moment after the fault is healed.
 */
function isAtPeace(client: string, t: number, { history }: Script): boolean {
  return !history.faults.some(
    ({ clients: hit, beganAt, healedAt }) => hit.includes(client) && beganAt <= t && healedAt + 500 >= t,
  );
}

describe('a well-behaved history, with any faults', () => {
  it('has no violation', () => {
    fc.assert(
      fc.property(rounds, clients, paths, (...plan) => {
        expect(check(play(...plan).history).violations).to.deep.equal([]);
      }),
      { numRuns: 300 },
    );
  });

  it('has one if an owner is granted the lock while another one holds it', () => {
    fc.assert(
      fc.property(rounds, clients, paths, fc.nat(), (a, b, c, place) => {
        const script = play(a, b, c);
        const released = [...script.history.grants.values()]
          .flat()
          .filter((grant) => grant.released?.outcome === 'released');
        const victim = released[place % released.length];
        fc.pre(victim?.releasingAt !== undefined);
        const t = (victim.granted.t + victim.releasingAt) / 2;
        fc.pre(isAtPeace('c1', t, script));
        script.own('c1', 'intruder', t - 0.01, { type: 'call', path: victim.path, kind: 'try', flow: 'intruder' });
        script.own('c1', 'intruder', t, {
          type: 'granted',
          path: victim.path,
          hold: `${victim.path}/intruder`,
          token: '1000000',
          valid: true,
        });
        expect(script.release('c1', 'intruder', t + 0.01).findings).to.include('overlaps');
      }),
    );
  });

  it('has one if a lease is granted beyond the maximum', () => {
    fc.assert(
      fc.property(rounds, clients, fc.nat(), (a, b, place) => {
        const script = play(a, b, 3);
        const released = (script.history.grants.get('/p3') ?? []).filter(
          (grant) => grant.released?.outcome === 'released',
        );
        const victim = released[place % released.length];
        fc.pre(victim?.releasingAt !== undefined);
        const t = (victim.granted.t + victim.releasingAt) / 2;
        fc.pre(isAtPeace('c1', t, script));
        for (const id of ['one', 'other']) {
          script.own('c1', id, t - 0.01, { type: 'call', path: '/p3', kind: 'try', role: 'lease', flow: id });
          script.own('c1', id, t, {
            type: 'granted',
            path: '/p3',
            hold: `/p3/${id}`,
            token: id === 'one' ? '1000000' : '1000001',
            valid: true,
          });
          script.release('c1', id, t + 0.01);
        }
        // The extra leases also overtake waiters.
        expect(script.findings.filter((finding) => finding !== 'order')).to.deep.equal(['leases']);
      }),
    );
  });

  it('has one if one of its releases is missing', () => {
    fc.assert(
      fc.property(rounds, clients, paths, fc.nat(), (a, b, c, place) => {
        const script = play(a, b, c);
        const living = [...script.history.grants.values()]
          .flat()
          .filter(({ incarnation }) => incarnation.killedAt === undefined);
        const victim = living[place % living.length];
        fc.pre(victim !== undefined);
        expect(script.without((event) => event.type === 'released' && event.id === victim.id).findings).to.include(
          'settled',
        );
      }),
    );
  });
});
