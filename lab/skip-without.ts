import { AdviceError } from './servers/docker/advice.ts';

/**
 * For a before hook: skips the suite if `ensure` rejects with an AdviceError. The totals of the run show the message as
 * the reason.
 */
export async function skipWithout(context: Mocha.Context, ensure: () => Promise<unknown>): Promise<void> {
  try {
    await ensure();
  } catch (error) {
    if (!(error instanceof AdviceError)) throw error;
    // The reporter reads it from the context of the skipped tests.
    context['lack'] = error.message;
    context.skip();
  }
}
