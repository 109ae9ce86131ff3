import { parseArgs } from 'node:util';
import { UsageError } from './usage-error.js';
import type { Arguments, OptionDescription, Verb } from './verb.js';

/**
 * Reads the words after the verb. The value of an option is checked here, so that a verb starts nothing with a bad one.
 *
 * @throws UsageError that names the option, the value and what is accepted
 */
export function parseArguments(verb: Verb, words: readonly string[]): Arguments {
  const { tokens, values } = tokensOf(verb, words);
  const terminator = tokens.find(({ kind }) => kind === 'option-terminator')?.index ?? Infinity;
  const before: string[] = [];
  const after: string[] = [];
  for (const token of tokens)
    if (token.kind === 'positional') (token.index < terminator ? before : after).push(token.value);
  const operands = verb.command === undefined ? [...before, ...after] : before;
  checkOperands(verb, operands);
  return {
    options: Object.fromEntries(
      Object.entries(verb.options).map(([name, option]) => [name, valueOf(name, option, values[name])]),
    ),
    operands,
    command: verb.command === undefined ? [] : after,
  };
}

function tokensOf(verb: Verb, words: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(verb.options).map(([name, { kind, short }]) => [
      name,
      { type: kind === 'flag' ? ('boolean' as const) : ('string' as const), ...(short === undefined ? {} : { short }) },
    ]),
  );
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, tokens: true });
  } catch (error) {
    throw new UsageError(adviceOn(verb, (error as Error).message));
  }
}

/** Node's text for an unknown option goes on with advice for operands, which is wrong for a misspelt option. */
function adviceOn(verb: Verb, message: string): string {
  const text = message.split(/\. To specify |\n/, 1)[0] ?? message;
  if (!text.startsWith('Unknown option')) return text;
  return `${text}. The options of ${verb.name} are ${Object.keys(verb.options)
    .map((name) => `--${name}`)
    .join(', ')}`;
}

function checkOperands(verb: Verb, given: readonly string[]): void {
  const missing = verb.operands[given.length];
  if (missing && !missing.isOptional) throw new UsageError(`${missing.name} is missing: ${missing.summary}`);
  const surplus = given[verb.operands.length];
  if (surplus !== undefined)
    throw new UsageError(
      `Unexpected word ${JSON.stringify(surplus)}${verb.command === undefined ? '' : `: write -- before ${verb.command}`}`,
    );
  for (const [index, { name, choices }] of verb.operands.entries()) {
    const word = given[index];
    if (word !== undefined && choices && !choices.includes(word)) throw new UsageError(oneOf(name, choices, word));
  }
}

function valueOf(name: string, option: OptionDescription, value: string | boolean | undefined) {
  if (option.kind === 'flag') return value === true;
  if (typeof value !== 'string') return undefined;
  switch (option.kind) {
    case 'text':
      if (option.choices && !option.choices.includes(value))
        throw new UsageError(oneOf(`--${name}`, option.choices, value));
      return value;
    case 'seconds':
      return millisecondsOf(name, value, option.minMs ?? 0);
    case 'integer':
      return integerOf(name, value, option);
  }
}

/** Digits only: `Number` would also take an empty text, a hexadecimal number, or `1e3`. */
function millisecondsOf(name: string, value: string, minMs: number): number {
  const ms = /^(\d+\.?\d*|\.\d+)$/.test(value) ? Number(value) * 1_000 : NaN;
  if (!Number.isFinite(ms) || ms < minMs)
    throw new UsageError(expected(name, `a number of seconds ≥ ${minMs / 1_000}, such as 2.5`, value));
  return ms;
}

function integerOf(
  name: string,
  value: string,
  { min, max = Infinity }: { readonly min: number; readonly max?: number },
): number {
  const number = /^\d+$/.test(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(number) || number < min || number > max)
    throw new UsageError(
      expected(name, max === Infinity ? `a whole number ≥ ${min}` : `a whole number from ${min} to ${max}`, value),
    );
  return number;
}

function oneOf(what: string, choices: readonly string[], value: string): string {
  return `Expected ${what} to be one of ${choices.join(', ')}, got ${JSON.stringify(value)}`;
}

function expected(name: string, accepted: string, value: string): string {
  return `Expected --${name} to be ${accepted}, got ${JSON.stringify(value)}`;
}
