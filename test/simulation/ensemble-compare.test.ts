import { expect } from 'chai';
import fc from 'fast-check';
import { overTcp } from '../../lab/wire/wire-client.ts';
import { EmbeddedZooKeeper } from '../../packages/testing/src/index.ts';
import { runSequence } from '../contract/embedded/support/sequence-run.ts';
import { sequences } from '../contract/embedded/support/sequences.ts';
import { EnsembleOnTime } from './support/ensemble-on-time.ts';
import { toMember } from './support/member-client.ts';

/** Set by `npm run suite -- embedded --sequences 20000`. */
const count = Number(process.env['EMBEDDED_SEQUENCES'] ?? 30);
const seed = Number(process.env['EMBEDDED_SEED'] ?? Date.now() % 2 ** 31);

describe('a simulated ensemble and the embedded ZooKeeper', function () {
  this.timeout(0);

  for (const [members, member] of [
    [1, 0],
    [3, 2],
    [3, 0],
  ] as const)
    it(`give the same answers to ${count} sequences of requests, at member ${member} of ${members} (seed ${seed})`, async () => {
      await fc.assert(
        fc.asyncProperty(sequences, async (sequence) => {
          await using embedded = await EmbeddedZooKeeper.start({
            extendedTypesEnabled: true,
            containerCheckIntervalMs: 86_400_000,
          });
          using own = new EnsembleOnTime(members);
          const [said, said2] = await Promise.all([
            runSequence(toMember(own.ensemble, member), sequence),
            runSequence(overTcp(embedded.port), sequence),
          ]);
          expect(said).to.deep.equal(said2);
        }),
        { numRuns: count, seed },
      );
    });
});
