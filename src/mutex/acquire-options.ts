import { expectDuration, expectOptions, expectSignal } from '../client/validate.js';

/** How long to wait for a lock. A bad option is a TypeError or a RangeError that names it, before anything is sent. */
export interface AcquireOptions {
  /**
   * The longest wait in milliseconds, connecting and retrying included; 0 tries once, for as long as an answer takes. Then LockTimeoutError.
   * @default as long as it takes
   */
  readonly timeoutMs?: number | undefined;
  /** Ends the wait; the acquire rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
}

export function checkAcquireOptions(what: string, options: AcquireOptions = {}): AcquireOptions {
  expectOptions(what, options, ['timeoutMs', 'signal']);
  if (options.timeoutMs !== undefined) expectDuration('timeoutMs', options.timeoutMs);
  if (options.signal !== undefined) expectSignal('signal', options.signal);
  return options;
}
