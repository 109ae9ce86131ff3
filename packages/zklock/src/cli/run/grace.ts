import { UsageError } from '../usage-error.js';

/**
 * The part of the session timeout that TERM, grace and KILL may take. In a healthy connection a hold has at least a
 * third of the timeout left at every moment, so a quarter and a margin of a sixteenth at most never end a job whose
 * connection is in order.
 */
const longestPart = 1 / 4;
const defaultPart = 1 / 6;

/** The times with which a job is ended before its hold is lost; in milliseconds. */
export interface EndTimes {
  /** Between TERM and KILL. */
  readonly graceMs: number;
  /** Between KILL and the deadline of the hold: the group must be dead then, also on a busy machine. */
  readonly marginMs: number;
}

/**
 * @param graceMs the option `--grace`
 * @param timeoutMs the session timeout that the servers have granted
 * @throws UsageError if the grace does not fit
 */
export function endTimes(graceMs: number | undefined, timeoutMs: number): EndTimes {
  checkGrace(graceMs, timeoutMs);
  return {
    graceMs: graceMs ?? timeoutMs * defaultPart,
    marginMs: Math.min(longestMarginMs, Math.max(timeoutMs / 40, Math.min(shortestMarginMs, timeoutMs / 16))),
  };
}

/**
 * @param timeoutMs the session timeout to ask the servers for, and later the one that they have granted
 * @throws UsageError if the grace does not fit
 */
export function checkGrace(graceMs: number | undefined, timeoutMs: number): void {
  const longestMs = timeoutMs * longestPart;
  if (graceMs !== undefined && graceMs > longestMs)
    throw new UsageError(
      `--grace ${graceMs / 1_000} does not fit in the session timeout of ${timeoutMs / 1_000} s: at most ${longestMs / 1_000} fits. ` +
        `For ${graceMs / 1_000} give --session-timeout ${Math.ceil(graceMs / longestPart / 1_000)}, if the servers’ maxSessionTimeout allows it`,
    );
}

const shortestMarginMs = 100;
const longestMarginMs = 500;
