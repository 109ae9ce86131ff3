/** One way to write under the lock. */
export type Way = 'bare' | 'isValid' | 'guarded';

export const ways = ['bare', 'isValid', 'guarded'] as const satisfies readonly Way[];

export const sessionTimeoutMs = 2_000;

export const openAcl = [{ permissions: 31, scheme: 'world', id: 'anyone' }];

/** One run of one process: what it does, and for how long. */
export interface SetRun {
  readonly connectString: string;
  readonly way: Way;
  /** The znode of the set. */
  readonly path: string;
  /** The first part of the names of its elements. */
  readonly name: string;
  readonly seed: number;
  readonly runMs: number;
}
