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
  // First the options, because a value that was forgotten has taken the place of an operand.
  const options = Object.fromEntries(
    Object.entries(verb.options).map(([name, option]) => [name, valueOf(name, option, values[name])]),
  );
  checkOperands(verb, operands);
  return {
    options,
    written: Object.fromEntries(
      tokens.flatMap((token) => (token.kind === 'option' ? [[token.name, writtenAs(token)]] : [])),
    ),
    operands,
    command: verb.command === undefined ? [] : after,
  };
}

/** Node.js does not name the value that it refuses, nor what is accepted, so each option is judged here. */
function tokensOf(verb: Verb, words: readonly string[]) {
  const options = Object.fromEntries(
    Object.entries(verb.options).map(([name, { kind, short }]) => [
      name,
      { type: kind === 'flag' ? ('boolean' as const) : ('string' as const), ...(short === undefined ? {} : { short }) },
    ]),
  );
  const parsed = parseArgs({ args: [...words], options, allowPositionals: true, strict: false, tokens: true });
  for (const token of parsed.tokens) if (token.kind === 'option') checkOption(verb, token);
  return parsed;
}

interface GivenOption {
  readonly name: string;
  /** As it was written: `-w` or `--wait`. */
  readonly rawName: string;
  readonly value?: string | undefined;
  /** True if the value was written into the same word, as in `--wait=5`. */
  readonly inlineValue?: boolean | undefined;
}

function writtenAs({ rawName, value }: GivenOption): string {
  return value === undefined ? rawName : `${rawName} ${JSON.stringify(value)}`;
}

function checkOption(verb: Verb, { name, rawName, value, inlineValue }: GivenOption): void {
  const option = Object.hasOwn(verb.options, name) ? verb.options[name] : undefined;
  if (!option) {
    const known = Object.keys(verb.options).map((each) => `--${each}`);
    throw new UsageError(`Unknown option '${rawName}'. The options of ${verb.name} are ${known.join(', ')}`);
  }
  if (option.kind === 'flag') {
    if (value !== undefined) throw new UsageError(`Expected --${name} to have no value, got ${JSON.stringify(value)}`);
    return;
  }
  if (value === undefined) throw new UsageError(`Expected --${name} to be ${acceptedBy(option)}, got nothing`);
  // The value was forgotten, and the next option was taken for it.
  if (option.kind === 'text' && !option.choices && inlineValue !== true && /^-./.test(value))
    throw new UsageError(`${expected(name, acceptedBy(option), value)}. If it is no option, write --${name}=${value}`);
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
    if (word !== undefined && choices && !choices.includes(word))
      throw new UsageError(`Expected ${name} to be one of ${choices.join(', ')}, got ${JSON.stringify(word)}`);
  }
}

function valueOf(name: string, option: OptionDescription, value: string | boolean | undefined) {
  if (option.kind === 'flag') return value === true;
  if (typeof value !== 'string') return undefined;
  const read = readAs(option, value);
  if (read === undefined) throw new UsageError(expected(name, acceptedBy(option), value));
  return read;
}

type OptionWithValue = Exclude<OptionDescription, { readonly kind: 'flag' }>;

/** Undefined for a value that is not accepted. Digits only: `Number` also takes an empty text, a hexadecimal number, or `1e3`. */
function readAs(option: OptionWithValue, value: string): string | number | undefined {
  if (option.kind === 'text') return option.choices?.includes(value) === false ? undefined : value;
  const isSeconds = option.kind === 'seconds';
  if (!(isSeconds ? /^(\d+\.?\d*|\.\d+)$/ : /^\d+$/).test(value)) return undefined;
  const number = isSeconds ? Number(value) * 1_000 : Number(value);
  const { min, max } = boundsOf(option);
  return number >= min && number <= max ? number : undefined;
}

/** The bounds of seconds are in milliseconds. */
function boundsOf(option: Exclude<OptionWithValue, { readonly kind: 'text' }>) {
  return option.kind === 'seconds'
    ? { min: option.minMs ?? 0, max: option.maxMs ?? Number.MAX_VALUE }
    : { min: option.min, max: option.max ?? Number.MAX_SAFE_INTEGER };
}

function acceptedBy(option: OptionWithValue): string {
  if (option.kind === 'text') return option.choices ? `one of ${option.choices.join(', ')}` : option.value;
  const { min, max } = boundsOf(option);
  if (option.kind === 'integer')
    return max === Number.MAX_SAFE_INTEGER ? `a whole number ≥ ${min}` : `a whole number from ${min} to ${max}`;
  const range = max === Number.MAX_VALUE ? `≥ ${min / 1_000}` : `from ${min / 1_000} to ${max / 1_000}`;
  return `a number of seconds ${range}, such as 2.5`;
}

function expected(name: string, accepted: string, value: string): string {
  return `Expected --${name} to be ${accepted}, got ${JSON.stringify(value)}`;
}
