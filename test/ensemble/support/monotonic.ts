/** Milliseconds of the machine's monotonic clock: the same in every process of it. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
