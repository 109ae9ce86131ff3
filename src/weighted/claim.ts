import { weightedChild } from './weighted-name.js';

/**
 * The data of a weighted lock's znode. The client that takes the lock writes them, because names alone do not
 * distinguish a holder from a waiter that others may still overtake. The data outlive the holder: the lock is held if
 * and only if the named znode exists.
 */
export interface Claim {
  /** The name of the holder's znode. No other znode will ever have this name. */
  readonly holder: string;
  /**
   * The sequence numbers of the waiters that were granted the lock before an earlier waiter that still waits, in
   * ascending order.
   */
  readonly overtakers: readonly number[];
}

/** Encodes a claim as text, so that an operator can read it in a shell. */
export function encodeClaim({ holder, overtakers }: Claim): Buffer {
  return Buffer.from(JSON.stringify({ holder, overtakers }));
}

/**
 * Returns `none` for a znode without data, and `foreign` for data that no weighted lock wrote.
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
