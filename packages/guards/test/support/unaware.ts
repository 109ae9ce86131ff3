import type { FencedHold } from '../../src/exports.ts';

/** The hold as a process sees it that was stopped after its last look at the clock. */
export function unaware(
  hold: FencedHold,
  fencingToken = hold.fencingToken,
  grantNumber = hold.grantNumber,
): FencedHold {
  const { path } = hold;
  const { signal } = new AbortController();
  return { path, fencingToken, grantNumber, isFence: true, isValid: true, signal, assertValid: () => undefined };
}
