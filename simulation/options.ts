import { parseArgs } from 'node:util';

export interface SimulationOptions {
  readonly from: number;
  readonly to: number;
  /** The number of calls and faults of each seed. */
  readonly steps: number;
  readonly members: number;
  /** End after this time; then `to` may be Infinity. */
  readonly minutes: number | undefined;
  readonly stopsAtFirst: boolean;
  /** The folder for the pictures of failed seeds. */
  readonly out: string;
}

/** @throws TypeError or RangeError that names the option, the value and what is accepted */
export function readOptions(args: readonly string[]): SimulationOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: { type: 'string' },
      minutes: { type: 'string' },
      steps: { type: 'string', default: '100' },
      members: { type: 'string', default: '3' },
      'stop-at-first': { type: 'boolean', default: false },
      out: { type: 'string', default: 'simulation-results' },
    },
  });
  const minutes = values.minutes === undefined ? undefined : number('minutes', values.minutes, 0.01, 24 * 60);
  const [from, to] = seedsOf(values.seeds, minutes !== undefined);
  return {
    from,
    to,
    minutes,
    steps: whole('steps', values.steps, 1, 100_000),
    members: whole('members', values.members, 1, 7),
    stopsAtFirst: values['stop-at-first'],
    out: values.out,
  };
}

/** Without seeds, a run of some minutes begins at a fresh one. */
function seedsOf(text: string | undefined, isTimed: boolean): [from: number, to: number] {
  if (text === undefined) return isTimed ? [1 + Math.floor(Math.random() * mostSeed), Infinity] : [1, 1_000];
  const [, from = '', to] = /^(\d+)(?:\.\.(\d+))?$/.exec(text) ?? [];
  if (from === '')
    throw new RangeError(`Expected --seeds to be one seed or a range such as 1..1000, got ${JSON.stringify(text)}`);
  return [Number(from), to === undefined ? (isTimed ? Infinity : Number(from)) : Number(to)];
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
  throw new RangeError(`Expected --${option} to be a whole number, got ${JSON.stringify(text)}`);
}
