/** A broken promise, at virtual time `t`. */
export interface Violation {
  /** The invariant, as the guarantees number them. */
  readonly check: string;
  readonly t: number;
  readonly text: string;
}
