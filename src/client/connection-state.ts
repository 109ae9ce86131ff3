/**
 * What an application sees of its connection, as Curator's ConnectionState:
 * - `connected`: for the first time;
 * - `suspended`: the connection was lost, the session may live on; holds stay valid until the session's deadline;
 * - `reconnected`: a connection again, to the same session or, after `lost`, perhaps to a new one;
 * - `lost`: the session is over, or nobody can say that it lives; every hold of it is lost;
 * - `closed`: by `close()`; final.
 */
export type ConnectionState = 'connected' | 'suspended' | 'reconnected' | 'lost' | 'closed';

export type ConnectionChange = 'up' | 'down' | 'lost' | 'closed';

/** The state after a change; the same state when there is nothing new to tell. */
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
