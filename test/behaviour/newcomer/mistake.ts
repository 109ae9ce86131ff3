import type { LockClient, LockClientOptions } from '../../../src/index.ts';
import type { Lab } from '../../../lab/lab.ts';

/** A mistake of a newcomer, or a failure around the newcomer, and the error that answers it. */
export interface Mistake {
  /** The mistake, as a part of the sentence "a helpful error for …". */
  readonly done: string;
  /** Makes the mistake. Throws, or rejects with, the error. */
  act(at: Fixture): unknown;
  /** The expected content of the error. */
  answer(at: Fixture): Answer;
}

/** The error names the thing, the value, and the remedy. */
export interface Answer {
  /** The name of the error's class. */
  readonly is: string;
  /** The `code` of an error of this library. */
  readonly code?: string;
  readonly thing: string | RegExp;
  readonly value: string | RegExp;
  readonly todo: string | RegExp;
  /**
   * Mistakes of one kind may share one text: for example values outside of the range of one option. @default `done`
   */
  readonly trouble?: string;
  /** A secret that the error must not contain. */
  readonly secret?: string;
}

/** The parts of an answer; the class with its code, or without one. */
type Expected = readonly [
  is: string | { readonly is: string; readonly code?: string },
  thing: Answer['thing'],
  value: Answer['value'],
  todo: Answer['todo'],
  more?: Pick<Answer, 'trouble' | 'secret'>,
];

export const invalidPath = { is: 'InvalidPathError', code: 'ERR_LOCK_INVALID_PATH' } as const;

/** A mistake, the error that answers it, and how it is made. */
export function mistake(done: string, expected: Expected | ((at: Fixture) => Expected), act: Mistake['act']): Mistake {
  const expectedAt = typeof expected === 'function' ? expected : () => expected;
  return {
    done,
    act,
    answer: (at) => {
      const [kind, thing, value, todo, more] = expectedAt(at);
      return { ...(typeof kind === 'string' ? { is: kind } : kind), thing, value, todo, ...more };
    },
  };
}

/**
 * The surroundings of each mistake: a server, two clients, and a path. All except the server are new for each mistake.
 */
export interface Fixture {
  readonly lab: Lab;
  readonly path: string;
  /** Connects to the server through a proxy. */
  readonly client: LockClient;
  /** Connects to the server directly: for the servers it is another process. */
  readonly other: LockClient;
  /** Another client, connected to the server directly, which is closed after the mistake. */
  connect(options?: LockClientOptions): Promise<LockClient>;
  /** Registers a clean-up that runs after the error. */
  defer(cleanUp: () => unknown): void;
}
