/** The command line is wrong: exit code 64. The message says what is accepted. */
export class UsageError extends Error {
  static {
    this.prototype.name = 'UsageError';
  }
}
