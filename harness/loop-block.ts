/** The longest time for which the event loop of this process was blocked while `run` ran, in milliseconds. */
export async function longestBlock(run: () => Promise<unknown>): Promise<number> {
  let longestMs = 0;
  let lastAt = performance.now();
  let isOver = false;
  const look = (): void => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - lastAt);
    lastAt = now;
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

/**
 * The shortest of several longest blocks: another program of the machine may hold a run up, but not make it faster.
 */
export async function ownLongestBlock(run: () => Promise<unknown>, enoughMs: number, tries = 4): Promise<number> {
  let shortest = Infinity;
  for (let left = tries; left > 0 && shortest > enoughMs; left -= 1)
    shortest = Math.min(shortest, await longestBlock(run));
  return shortest;
}
