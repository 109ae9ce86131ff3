/** What this machine lacks, and what to do about it, in one sentence for whoever started the tests. */
export class AdviceError extends Error {
  override readonly name = 'AdviceError';
}
