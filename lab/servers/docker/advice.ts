/**
 * Says what is missing on this machine and how to install it, for the person who started the tests. Only the message is
 * shown, and nothing else is tried.
 */
export class AdviceError extends Error {
  override readonly name = 'AdviceError';
}
