import type { Refusal } from '../wire/refusal.js';
import type { Transaction } from './transaction.js';

/** A request for a change after the decision on it: the same for every member of an ensemble that applies it. */
export interface Proposal {
  readonly zxid: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly change: Change;
}

export type Change =
  | { readonly is: 'transaction'; readonly transaction: Transaction }
  /** One transaction for each item. If one item is refused, no item is carried out, and the later items are undefined. */
  | { readonly is: 'multi'; readonly items: readonly (Transaction | Refusal | undefined)[] }
  /** A refused request is a transaction, too. */
  | { readonly is: 'refused'; readonly refusal: Refusal }
  /** The Java server fails before it makes a transaction. If `hasResults`, it still answers with an empty list. */
  | { readonly is: 'failed'; readonly refusal: Refusal; readonly hasResults: boolean }
  | { readonly is: 'openSession'; readonly sessionId: bigint; readonly timeoutMs: number }
  /** Deletes the session's ephemeral znodes. */
  | { readonly is: 'closeSession'; readonly sessionId: bigint };
