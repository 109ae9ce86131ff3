import { parseArgs } from 'node:util';

export interface BenchOptions {
  readonly rounds: number;
  readonly durationMs: number;
  /** Runs one round of half a second each: shows that the benchmark works, not how fast the library is. */
  readonly isBrief: boolean;
  /** Measures only the scenarios with one of these names, and writes no file. */
  readonly only: readonly string[] | undefined;
  /** How long the servers work before the first round. */
  readonly warmUpMs: number;
}

/** @throws RangeError that names the option, the value and what is accepted */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      brief: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true },
      'warm-up': { type: 'string', default: '12' },
    },
  });
  const { only } = values;
  if (values.brief) return { rounds: 1, durationMs: 300, isBrief: true, only, warmUpMs: 0 };
  return {
    rounds: positive('rounds', values.rounds),
    durationMs: positive('seconds', values.seconds) * 1_000,
    isBrief: false,
    only,
    warmUpMs: positive('warm-up', values['warm-up']) * 1_000,
  };
}

function positive(option: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new RangeError(`Expected --${option} to be a number above 0, got ${JSON.stringify(text)}`);
}
