import type { Io } from './io.js';

/** One option of a verb. Its name is its key: `'on-lost'` is `--on-lost`. */
export type OptionDescription =
  | (OptionBase & { readonly kind: 'flag' })
  | (OptionBase & WithValue & { readonly kind: 'text'; readonly choices?: readonly string[] })
  /** A number of seconds ≥ 0, such as 0.5. Its value is in milliseconds. */
  | (OptionBase & WithValue & { readonly kind: 'seconds'; readonly minMs?: number; readonly maxMs?: number })
  | (OptionBase & WithValue & { readonly kind: 'integer'; readonly min: number; readonly max?: number });

interface OptionBase {
  readonly short?: string;
  /** One sentence without a full stop, for the list of options. */
  readonly summary: string;
}

interface WithValue {
  /** The name of the value in the help, such as `SECS`. */
  readonly value: string;
  /** The words that a shell may complete the value with. */
  readonly completes?: 'file';
}

export type Options = Readonly<Record<string, OptionDescription>>;

/** The value of an option: undefined if it was not given, and false for a flag. */
export type OptionValue<Description extends OptionDescription> = Description extends { kind: 'flag' }
  ? boolean
  : Description extends { kind: 'text'; choices: readonly (infer Choice)[] }
    ? Choice | undefined
    : Description extends { kind: 'text' }
      ? string | undefined
      : number | undefined;

/** A word on the command line that is no option. */
export interface Operand {
  /** In capitals, such as `PATH`. */
  readonly name: string;
  readonly summary: string;
  /** @default false */
  readonly isOptional?: boolean;
  readonly choices?: readonly string[];
}

/** The command line of a verb, checked. */
export interface Arguments<Known extends Options = Options> {
  readonly options: { readonly [Name in keyof Known]: OptionValue<Known[Name]> };
  /** The options that were given, as they were written, such as `-w 5`. */
  readonly written: { readonly [Name in keyof Known]?: string };
  /** In the order of the description. An optional operand may be missing. */
  readonly operands: readonly string[];
  /** The words after `--`, for a verb that has `command`. */
  readonly command: readonly string[];
}

/**
 * One verb of `zklock`. Parser, help, completion and man page are made of this description alone, so `run` loads what
 * it needs by `import()`.
 */
export interface Verb<Known extends Options = Options> {
  readonly name: string;
  /** One sentence without a full stop, for the list of verbs. */
  readonly summary: string;
  /** Paragraphs. */
  readonly description: readonly string[];
  readonly operands: readonly Operand[];
  /** The words after `--`, as the help shows them. */
  readonly command?: string;
  readonly options: Known;
  /** Exit codes besides those that every verb has. */
  readonly exitCodes?: readonly (readonly [code: string, meaning: string])[];
  /** The variables that the verb reads or sets, besides those of every verb. */
  readonly environment?: readonly (readonly [name: string, meaning: string])[];
  /** Each a command line, and what it does. */
  readonly examples: readonly (readonly [commandLine: string, meaning: string])[];
  /** Resolves with the exit code. An error that it rejects with is printed, and becomes an exit code. */
  run(args: Arguments<Known>, io: Io): Promise<number>;
}

/** Lets the compiler derive the types of the values in `run` from the description of the options. */
export function defineVerb<const Known extends Options>(verb: Verb<Known>): Verb {
  return verb;
}
