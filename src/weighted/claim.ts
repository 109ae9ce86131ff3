import { weightedChild } from './weighted-name.js';

/**
 * What the znode of a weighted lock says, written by who takes the lock: names alone cannot tell a holder from a waiter
 * that others may still pass. It outlives its
 * holder: the lock is held if and only if the znode that it names is there.
 */
export interface Claim {
  /** The name of the holder's znode, which no other will ever have. */
  readonly holder: string;
  /**
   * The sequence numbers of those who were let in before somebody who was there earlier and still waits, in ascending
   * order.
   */
  readonly overtakers: readonly number[];
}

/** Text, for who looks at it with a shell. */
export function encodeClaim({ holder, overtakers }: Claim): Buffer {
  return Buffer.from(JSON.stringify({ holder, overtakers }));
}

/**
 * `none` is a znode that nobody has ever written to; `foreign` are somebody else's data.
 *
 * @example
 * decodeClaim(new Uint8Array(0)); // 'none'
 */
export function decodeClaim(data: Uint8Array): Claim | 'none' | 'foreign' {
  if (data.length === 0) return 'none';
  const { holder, overtakers } = parse(data);
  if (typeof holder !== 'string' || weightedChild(holder) === undefined || !isListOfSequences(overtakers))
    return 'foreign';
  return { holder, overtakers: overtakers.toSorted((a, b) => a - b) };
}

function parse(data: Uint8Array): { readonly holder?: unknown; readonly overtakers?: unknown } {
  try {
    const value: unknown = JSON.parse(Buffer.from(data).toString());
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

function isListOfSequences(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((one) => Number.isInteger(one));
}
