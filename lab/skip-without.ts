import { AdviceError } from './servers/docker/advice.ts';
import { chosenVersion, has, type Ability } from './servers/versions.ts';

/**
 * For a before hook: skips the suite if `ensure` rejects with an AdviceError. The totals of the run show the message as
 * the reason.
 */
export async function skipWithout(context: Mocha.Context, ensure: () => Promise<unknown>): Promise<void> {
  try {
    await ensure();
  } catch (error) {
    if (!(error instanceof AdviceError)) throw error;
    skip(context, error.message);
  }
}

/** For a test or a before hook: skips the test or the suite if the chosen real server lacks this. */
export function needs(context: Mocha.Context, ability: Ability): void {
  if (!has(ability)) skip(context, `ZooKeeper ${chosenVersion().version} lacks ${ability}`);
}

/** For a hook or a test: skips what it runs, for the reason that the totals of the run show. */
export function skip(context: Mocha.Context, lack: string): void {
  // The reporter reads it from the context of the skipped tests.
  context['lack'] = lack;
  context.skip();
}
