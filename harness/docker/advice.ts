/**
 * What this machine lacks, and what to do about it, for the person who started the tests: the message alone is shown,
 * and nothing else is tried.
 */
export class AdviceError extends Error {
  override readonly name = 'AdviceError';
}
