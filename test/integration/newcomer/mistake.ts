import type { LockClient, LockClientOptions } from '../../../src/index.ts';
import type { Lab } from '../../../harness/lab.ts';

/** Something that a newcomer does wrong, or that goes wrong around it, and the answer to it. */
export interface Mistake {
  /** What is done, as a part of the sentence "the answer to …". */
  readonly done: string;
  /**
   * Mistakes of one kind may have one text: a value of the same option that is out of the same range. @default `done`
   */
  readonly trouble?: string;
  /** Makes it. Throws, or rejects with, the answer. */
  act(at: Scene): unknown;
  /** What the answer says. */
  answer(at: Scene): Answer;
}

/** An answer names the thing, the value, and what to do. */
export interface Answer {
  /** The name of the error's class. */
  readonly is: string;
  /** The `code`, of an error of this library. */
  readonly code?: string;
  readonly thing: string | RegExp;
  readonly value: string | RegExp;
  readonly todo: string | RegExp;
  /** What must not be in it. */
  readonly secret?: string;
}

/**
 * What each mistake finds: a server, two clients, and a path. All of it is new for the mistake, except for the server.
 */
export interface Scene {
  readonly lab: Lab;
  readonly path: string;
  /** Reaches the server through a proxy. */
  readonly client: LockClient;
  /** Reaches the server itself: another process, as far as the servers can tell. */
  readonly other: LockClient;
  /** One client more, on the server itself, which is closed behind the mistake. */
  connect(options?: LockClientOptions): Promise<LockClient>;
  /** What is to be done when the answer has come. */
  defer(cleanUp: () => unknown): void;
}
