/** A promise that a file of operations shows to be broken. */
export interface Broken {
  readonly rule: string;
  readonly text: string;
  /** The index of the operation that shows it. */
  readonly index: number;
}
