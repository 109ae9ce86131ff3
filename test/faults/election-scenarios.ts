import {
  LeaderElection,
  LockLostError,
  OutcomeUnknownError,
  RequestFailedError,
  type Hold,
  type LockClient,
} from '../../src/index.ts';
import type { CaseRun } from './case-run.ts';
import { mutex, type LockKind, type Lock } from './lock-kinds.ts';
import type { Scenario } from './scenario.ts';
import { acquireAndRelease, handOver, scene } from './steps.ts';

const election: LockKind = {
  ...mutex,
  open: candidate,
  acquireAll: async (client, path, options) => [await candidate(client, path).acquire(options)],
};

/** Terms of an election, and writes that only a holder can make. */
export const electionScenarios: readonly Scenario[] = [
  scene(
    'a campaign and a resignation',
    { frames: 9, kind: election },
    (run) => () => acquireAndRelease(run, run.acquire(run.subject)),
  ),
  {
    name: 'a leader that resigns before a candidate of another client',
    frames: 3,
    kind: election,
    begin: handOver,
  },
  scene('a transaction of a holder', { frames: 11 }, (run) => async () => {
    const hold = await run.acquire(run.subject);
    await run.watched(hold);
    if (hold) await write(run, hold);
    await run.release(hold);
  }),
];

function candidate(client: LockClient, path: string): Lock {
  const one = new LeaderElection(client, path, { id: 'candidate' });
  return {
    acquire: ({ data: _id, ...options } = {}) => one.campaign(options),
    tryAcquire: () => one.campaign({ timeoutMs: 0 }),
  };
}

/** Compares the outcome of the call with the znode that the transaction creates. */
async function write(run: CaseRun, hold: Hold): Promise<void> {
  const path = `${run.path}-data`;
  const committed = hold
    .transaction()
    .create(path)
    .commit()
    .then(
      () => 'done',
      (error: unknown) => error,
    );
  const outcome = await run.track('a transaction', run.unlessCrashed(committed));
  if (run.isCrashed || outcome instanceof OutcomeUnknownError) return;
  const isThere = run.servers.exists(path);
  const isRefused = outcome instanceof LockLostError || outcome instanceof RequestFailedError;
  const isTrue = outcome === 'done' ? isThere : isRefused && !isThere;
  if (!isTrue)
    run.warnings.push(`a transaction said ${String(outcome)}, and its znode is ${isThere ? '' : 'not '}there`);
}
