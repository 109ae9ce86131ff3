/**
 * What a client does by itself, for logs and metrics; see {@link LockClient.on}. Session ids are written as the
 * servers' logs write them, paths as the servers know them, chroot included.
 * - `connected`: a server accepted the session, at first or again.
 * - `disconnected`: the connection ended, `error` says why; the next server is tried at once.
 * - `session-ended`: on the servers' word (`expired`), at the deadline while something was held (`lost`), or because the credentials were refused
 *   (`auth-failed`). The next session is opened by itself.
 * - `lost-session-closed`: a session that was lost here lived on at the servers, with its znodes, and is over there now, too.
 * - `create-searched`: the answer to a create was lost, and `found` says whether its znode was there.
 * - `delete-retried`: a znode could not be deleted, and is tried again.
 * - `warning`: what the `logger` hears.
 */
export type BackgroundEvent =
  | { readonly type: 'connected'; readonly sessionId: string; readonly server: string }
  | { readonly type: 'disconnected'; readonly sessionId: string; readonly error: unknown }
  | { readonly type: 'session-ended'; readonly sessionId: string; readonly why: 'expired' | 'lost' | 'auth-failed' }
  | { readonly type: 'lost-session-closed'; readonly sessionId: string }
  | { readonly type: 'create-searched'; readonly path: string; readonly found: boolean }
  | { readonly type: 'delete-retried'; readonly path: string; readonly error: unknown }
  | { readonly type: 'warning'; readonly message: string; readonly error: unknown };
