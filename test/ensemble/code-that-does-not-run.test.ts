import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RemoteRivals } from './support/remote-rivals.ts';
import { shortTimeoutMs } from './support/rivals.ts';
import { useTrio } from '../../lab/servers/trio.ts';

/** Long, because a busy machine may let the process go on some seconds later than the test wants. */
const patientTimeoutMs = 20_000;

/**
 * A little more than the quarter of that timeout for which a server may be silent, and much less than the time that is
 * always left until the deadline.
 */
const pauseMs = 5_200;

describe('a holder whose code does not run', function () {
  this.timeout(60_000);
  const used = useTrio();
  const contest: RemoteRivals[] = [];
  const folder = mkdtempSync(join(tmpdir(), 'ensemble-'));

  afterEach(() => Promise.all(contest.splice(0).map((rivals) => rivals[Symbol.asyncDispose]())));
  after(() => rmSync(folder, { recursive: true }));

  it('because its process is stopped finds its lock lost at the first look, if the lock was granted again', async () => {
    await meet(shortTimeoutMs);
    await apart((rivals) => rivals.stop());
    await Promise.all(contest.map((rivals) => rivals.granted));
    contest.forEach((rivals) => rivals.go());
    await Promise.all(contest.map((rivals) => rivals.findsItLost('a stopped process (*)')));
  });

  it('because its event loop is blocked finds its lock lost at the first look, if the lock was granted again', async () => {
    await meet(shortTimeoutMs);
    const file = join(folder, 'granted');
    await apart((rivals) => rivals.block(file));
    await Promise.all(contest.map((rivals) => rivals.granted));
    writeFileSync(file, '');
    await Promise.all(contest.map((rivals) => rivals.findsItLost('a blocked event loop (*)')));
  });

  it('because its process is stopped for a quarter of its timeout keeps its lock and its connection', async () => {
    await meet(patientTimeoutMs);
    const stops = contest.map(async (rivals) => {
      rivals.stop();
      await passed(pauseMs);
      rivals.go();
      await rivals.findsItKept(pauseMs - 1); // a timer may fire a millisecond early
    });
    await Promise.all(stops);
  });

  it('because its event loop is blocked for a quarter of its timeout keeps its lock and its connection', async () => {
    await meet(patientTimeoutMs);
    contest.forEach((rivals) => rivals.block(pauseMs));
    await Promise.all(contest.map((rivals) => rivals.findsItKept(pauseMs)));
  });

  async function meet(sessionTimeoutMs: number): Promise<void> {
    contest.push(
      ...(await Promise.all(
        [false, true, false].map((knowTick) =>
          RemoteRivals.meet(used.trio.connectString, { sessionTimeoutMs, knowTick }),
        ),
      )),
    );
  }

  /** Stops or blocks each pair at another phase between two heartbeats. */
  async function apart(what: (rivals: RemoteRivals) => void): Promise<void> {
    for (const rivals of contest) {
      await passed(shortTimeoutMs / 6 / contest.length);
      what(rivals);
    }
  }
});

function passed(timeMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, timeMs));
}
