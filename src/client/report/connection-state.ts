/**
 * The state of a client's connection, as Curator's ConnectionState:
 * - `connected`: connected for the first time;
 * - `suspended`: the connection was lost, but the session may live on; holds stay valid until the session's deadline;
 * - `reconnected`: connected again, to the same session or, after `lost`, perhaps to a new one;
 * - `lost`: the session has ended, or may have ended; all its holds are lost;
 * - `closed`: closed by `close()`; final.
 */
export type ConnectionState = 'connected' | 'suspended' | 'reconnected' | 'lost' | 'closed';

export type ConnectionChange = 'up' | 'down' | 'lost' | 'closed';

/** The state after a change. The same state if nothing new must be reported. */
export function nextState(state: ConnectionState | undefined, change: ConnectionChange): ConnectionState | undefined {
  if (state === 'closed') return state;
  switch (change) {
    case 'up':
      if (state === undefined) return 'connected';
      return state === 'suspended' || state === 'lost' ? 'reconnected' : state;
    case 'down':
      return state === 'connected' || state === 'reconnected' ? 'suspended' : state;
    case 'lost':
      return state === undefined ? undefined : 'lost';
    case 'closed':
      return 'closed';
  }
}
