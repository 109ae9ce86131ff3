/** A duration as text for a reader: `350 ms`, `3.0 s`. */
export function durationText(ms: number): string {
  return ms < 1_000 ? `${Math.max(0, Math.round(ms))} ms` : `${(ms / 1_000).toFixed(1)} s`;
}
