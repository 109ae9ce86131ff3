import { parseArgs } from 'node:util';
import { lineageOf, type Lineage } from './lineage.ts';

export interface SimulationOptions {
  readonly plans: Plans;
  /** Fail if a point of the library was not reached. */
  readonly needsAllPoints: boolean;
  /** The number of calls and faults of each seed. */
  readonly steps: number;
  readonly members: number;
  /** End after this time. */
  readonly minutes: number | undefined;
  /** End after so many failures, without a replay of each. Undefined: do not end. */
  readonly stopsAt: number | undefined;
  /** The folder for the pictures of failed seeds. */
  readonly out: string;
}

/** @throws TypeError or RangeError that names the option, the value and what is accepted */
export function readOptions(args: readonly string[]): SimulationOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string' },
      corpus: { type: 'string' },
      steer: { type: 'string' },
      'all-points': { type: 'boolean', default: false },
      minutes: { type: 'string' },
      steps: { type: 'string', default: '100' },
      members: { type: 'string', default: '3' },
      'stop-at': { type: 'string' },
      out: { type: 'string', default: 'simulation-results' },
    },
  });
  const minutes = values.minutes === undefined ? undefined : number('minutes', values.minutes, 0.01, 24 * 60);
  return {
    plans: plansOf(values, minutes !== undefined),
    needsAllPoints: values['all-points'],
    minutes,
    steps: whole('steps', values.steps, 1, 100_000),
    members: whole('members', values.members, 1, 7),
    stopsAt: values['stop-at'] === undefined ? undefined : whole('stop-at', values['stop-at'], 1, 1_000),
    out: values.out,
  };
}

/** The plans to run: first those of a corpus, then one plan, or those of a range of seeds. */
export interface Plans {
  readonly corpus: string | undefined;
  readonly then:
    | { readonly are: 'one'; readonly lineage: Lineage }
    /** `steered`: the file for the plans that have reached something new, two of which are crossed after each seed. */
    | { readonly are: 'seeds'; readonly from: number; readonly to: number; readonly steered: string | undefined };
}

/** Without seeds, a run of some minutes begins at a fresh one. */
function plansOf(
  { seeds, corpus, steer }: { seeds?: string | undefined; corpus?: string | undefined; steer?: string | undefined },
  isTimed: boolean,
): Plans {
  const fresh = 1 + Math.floor(Math.random() * mostSeed);
  const text = seeds ?? (isTimed ? String(fresh) : '1..1000');
  const [, first, last] = /^(\d{1,15})(?:\.\.(\d{1,15}))?$/.exec(text) ?? [];
  const lineage = steer === undefined ? lineageOf(text) : undefined;
  if (first === undefined && lineage) return { corpus, then: { are: 'one', lineage } };
  const from = Number(first);
  const to = last === undefined ? (isTimed ? Infinity : from) : Number(last);
  // A run of no seed would pass.
  if (from <= to) return { corpus, then: { are: 'seeds', from, to, steered: steer } };
  throw new RangeError(
    `Expected --seeds to be one seed, a range such as 1..1000, or without --steer a plan such as 17~5003, got ${JSON.stringify(seeds)}`,
  );
}

const mostSeed = 2 ** 24;

function number(option: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (text.trim() !== '' && value >= least && value <= most) return value;
  throw new RangeError(`Expected --${option} to be a number from ${least} to ${most}, got ${JSON.stringify(text)}`);
}

function whole(option: string, text: string, least: number, most: number): number {
  const value = number(option, text, least, most);
  if (Number.isInteger(value)) return value;
  throw new RangeError(
    `Expected --${option} to be a whole number from ${least} to ${most}, got ${JSON.stringify(text)}`,
  );
}
