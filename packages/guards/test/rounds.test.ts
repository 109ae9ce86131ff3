import { expect } from 'chai';
import { skipWithout } from '../../../lab/skip-without.ts';
import { contest, faults, mistakesOf } from './support/contest.ts';
import { startStore, type Store } from './support/desk.ts';

const rounds = Number(process.env['GUARDS_ROUNDS'] ?? 3);

for (const library of ['pg', 'mysql2', 'better-sqlite3', 'ioredis'] as const) {
  describe(`a guard with ${library} whose holder is stopped, partitioned or killed in its transaction`, function () {
    this.timeout(300_000 + rounds * 60_000);
    let store: Store | undefined;

    before(async function () {
      await skipWithout(this, async () => void (store = await startStore(library)));
    });

    after(() => store?.[Symbol.asyncDispose]());

    it(`stores no write of a stale holder, in ${rounds} rounds`, async () => {
      const chosen = Array.from({ length: rounds }, (_, round) => faults[round % faults.length] ?? 'stopped');
      const result = await contest(library, store?.address ?? '', chosen, 'guarded');
      expect(mistakesOf(result)).to.deep.equal([]);
      const seen = [...result.outcomes.values()];
      expect(seen.filter((outcome) => outcome === 'done')).to.have.lengthOf.above(rounds);
      if (process.env['GUARDS_ROUNDS']) console.log(`      ${library}: ${JSON.stringify(counted(seen))}`);
    });

    // A stopped process keeps the lock of a SQLite file, so that no later holder can write.
    if (library !== 'better-sqlite3')
      it('sees late writes in the same rounds without a guard', async () => {
        const result = await contest(library, store?.address ?? '', ['stopped', 'stopped'], 'unguarded');
        expect(mistakesOf(result).join('\n')).to.match(/was stored after/);
      });
  });
}

function counted(outcomes: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
