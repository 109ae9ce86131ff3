/** Milliseconds of the machine's monotonic clock, which is the same in all its processes. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
