import type { Job } from './job.ts';

export interface Size {
  readonly workers: number;
  readonly jobs: number;
}

const everyMs = 12;
const jitterMs = 40;
const shortestHoldMs = 15;
const longestHoldMs = 45;

/**
 * Gives the jobs to the workers in turn, one list per worker. The jobs ask faster than they can be served, and random
 * delays mix the workers in the queue.
 *
 * @param random like `Math.random`
 */
export function planJobs({ workers, jobs }: Size, random: () => number): Job[][] {
  const plan: Job[][] = Array.from({ length: workers }, () => []);
  for (let index = 0; index < jobs; index += 1) {
    plan[index % workers]?.push({
      number: index + 1,
      startMs: index * everyMs + random() * jitterMs,
      holdMs: shortestHoldMs + random() * (longestHoldMs - shortestHoldMs),
    });
  }
  return plan;
}
