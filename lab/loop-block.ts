/**
 * The longest turn of the event loop of this process while `run` ran, in milliseconds of CPU time. Other programs of the
 * machine may hold a turn up, and that time does not count. The time of V8's own threads counts.
 */
export async function longestBlock(run: () => Promise<unknown>): Promise<number> {
  let longestMs = 0;
  let isOver = false;
  let before = process.cpuUsage();
  const look = (): void => {
    const { user, system } = process.cpuUsage(before);
    longestMs = Math.max(longestMs, (user + system) / 1_000);
    before = process.cpuUsage();
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  try {
    await run();
    // The last block is seen in the next turn.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    isOver = true;
  }
  return longestMs;
}
