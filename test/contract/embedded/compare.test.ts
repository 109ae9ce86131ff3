import { expect } from 'chai';
import fc from 'fast-check';
import { imitation } from '../../../lab/servers/versions.ts';
import { startRealServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { EmbeddedZooKeeper } from '../../../packages/testing/src/index.ts';
import { digestId } from '../../../lab/wire/account.ts';
import { overTcp } from '../../../lab/wire/wire-client.ts';
import { superUser } from './support/manager.ts';
import { asClientsSend, sequences } from './support/sequences.ts';
import { runSequence } from './support/sequence-run.ts';

/** Set by `npm run suite -- embedded --sequences 20000`. */
const count = Number(process.env['EMBEDDED_SEQUENCES'] ?? 300);
const seed = Number(process.env['EMBEDDED_SEED'] ?? Date.now() % 2 ** 31);

// No container is reaped during the run, so that only the sequences make transactions.
const javaOptions = [
  '-Dzookeeper.extendedTypesEnabled=true',
  '-Dzookeeper.forceSync=no',
  `-Dzookeeper.DigestAuthenticationProvider.superDigest=${digestId(superUser)}`,
];

describe('an embedded ZooKeeper and the real one', function () {
  this.timeout(0);
  let real: ZooKeeperServer;
  before(async () => (real = await startRealServer({ tickTimeMs: 2_000, containerCheckMs: 86_400_000, javaOptions })));
  after(() => real.stop());

  it(`give the same answers to ${count} sequences of requests (seed ${seed})`, async () => {
    const { version } = imitation();
    await fc.assert(
      fc.asyncProperty(version === '3.8' ? sequences : sequences.map(asClientsSend), async (sequence) => {
        await using embedded = await EmbeddedZooKeeper.start({
          version,
          extendedTypesEnabled: true,
          containerCheckIntervalMs: 86_400_000,
        });
        const [said, reallySaid] = await Promise.all([
          runSequence(overTcp(embedded.port), sequence),
          runSequence(overTcp(real.port), sequence),
        ]);
        const different = difference(said, reallySaid);
        if (different !== undefined) expect.fail(different);
      }),
      { numRuns: count, seed },
    );
  });
});

/** The first line that differs, with the lines before it. */
function difference(said: readonly string[], reallySaid: readonly string[]): string | undefined {
  const at = Array.from({ length: Math.max(said.length, reallySaid.length) }, (_, index) => index).find(
    (index) => said[index] !== reallySaid[index],
  );
  if (at === undefined) return undefined;
  return [
    ...said.slice(Math.max(0, at - 5), at),
    `embedded: ${said[at] ?? 'nothing'}`,
    `real:     ${reallySaid[at] ?? 'nothing'}`,
  ].join('\n');
}
