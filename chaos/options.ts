import { parseArgs } from 'node:util';

export interface ChaosOptions {
  readonly minutes: number;
  readonly seed: number;
  readonly clients: number;
  /** The number of clients that use Java Curator, besides those of this library. */
  readonly java: number;
  /** Which clients have sticky locks; `mixed`: every second client. */
  readonly sticky: 'off' | 'on' | 'mixed';
  /** The folder for the history and its picture. */
  readonly out: string;
}

/** @throws TypeError or RangeError that names the option, the value and what is accepted */
export function readOptions(args: readonly string[]): ChaosOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '5' },
      seed: { type: 'string' },
      clients: { type: 'string', default: '6' },
      java: { type: 'string', default: '2' },
      sticky: { type: 'string', default: 'mixed' },
      out: { type: 'string', default: 'chaos-results' },
    },
  });
  return {
    minutes: number('minutes', values.minutes, 0.1, 24 * 60),
    seed: values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : whole('seed', values.seed, 0, 2 ** 31 - 1),
    clients: whole('clients', values.clients, 2, 64),
    java: whole('java', values.java, 0, 16),
    sticky: oneOf('sticky', values.sticky, ['off', 'on', 'mixed']),
    out: values.out,
  };
}

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

function oneOf<const T extends string>(option: string, text: string, accepted: readonly T[]): T {
  const found = accepted.find((one) => one === text);
  if (found !== undefined) return found;
  throw new RangeError(`Expected --${option} to be one of ${accepted.join(', ')}, got ${JSON.stringify(text)}`);
}
