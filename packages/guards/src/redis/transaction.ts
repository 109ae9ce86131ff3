import { inspect } from 'node:util';
import { afterTheEnd, GuardError } from '../guard-error.js';

/** The commands that Redis runs in one step when the job has ended. Read with your own client. */
export class RedisTransaction {
  /** The replies in the order of the commands, once `fenced` has resolved. */
  readonly replies: unknown[] = [];
  /** @internal */
  readonly queued: (string | Buffer)[] = [];
  #isClosed = false;

  /** Adds a command, such as `tx.command('HSET', 'account:42', 'balance', 90)`. */
  command(name: string, ...values: (string | number | bigint | Buffer)[]): this {
    if (this.#isClosed) throw new GuardError('ERR_LOCK_GUARD_FAILED', afterTheEnd);
    const words = [name, ...values].map((value) => (Buffer.isBuffer(value) ? value : word(value)));
    // Lua cannot pass more to one call.
    if (words.length > 7_000) throw new RangeError(`Expected at most 6,999 values for a command, got ${values.length}`);
    this.queued.push(String(words.length), ...words);
    return this;
  }

  /** @internal Takes no more commands: nothing would send them. */
  close(): void {
    this.#isClosed = true;
  }
}

function word(value: unknown): string {
  if (!['string', 'number', 'bigint'].includes(typeof value))
    throw new TypeError(`Expected the words of a command to be texts, numbers or Buffers, got ${inspect(value)}`);
  // A sum with a value that is missing. Redis would store the text "NaN".
  if (Number.isNaN(value)) throw new RangeError('Expected the numbers of a command not to be NaN');
  return String(value);
}
