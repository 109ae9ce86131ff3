import type { ConnectString } from '../wire/connect-string.js';

/** The servers of one ensemble. The list may change. It may be unknown at first: then it has no hosts. */
export interface Servers extends ConnectString {
  /** A round over all servers has failed, or an outage lasts long: a newer list is welcome. */
  ask?(outageMs: number): void;
  /** Calls `listener` when the list has changed. */
  onChange?(listener: () => void): () => void;
}
