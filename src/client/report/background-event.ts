/**
 * An action that a client takes by itself, for logs and metrics; see {@link LockClientEvents}. Session ids are written as
 * in the servers' logs. Paths include the chroot, as the servers know them. `JSON.stringify` shows an error by its name
 * and message.
 */
export type BackgroundEvent =
  | {
      /** A server accepted the session, for the first time or again. */
      readonly type: 'connected';
      /** The session. */
      readonly sessionId: string;
      /** `host:port`, as in the connect string. */
      readonly server: string;
    }
  | {
      /** The connection ended. The client tries the next server at once. */
      readonly type: 'disconnected';
      /** The session. */
      readonly sessionId: string;
      /** The reason. */
      readonly error: unknown;
    }
  | {
      /** The session has ended. The client opens the next one by itself. */
      readonly type: 'session-ended';
      /** The session. */
      readonly sessionId: string;
      /**
       * `expired`: the servers said so. `lost`: the session's deadline passed while something was held. `replaced`:
       * nothing was held, and the servers came back with older data than the session had seen, so that they would never
       * have answered it. `auth-failed`: the servers refused the credentials.
       */
      readonly why: 'expired' | 'lost' | 'replaced' | 'given-up' | 'auth-failed';
    }
  | {
      /**
       * A session that was lost or replaced in this process may have lived on at the servers, with its znodes. The
       * servers now say that it has ended.
       */
      readonly type: 'lost-session-closed';
      /** The session. */
      readonly sessionId: string;
    }
  | {
      /** The answer to a create was lost, so the client searched for the znode. */
      readonly type: 'create-searched';
      /** The name that was to be created, without the number that the server appends. */
      readonly path: string;
      /** True if the znode existed. */
      readonly found: boolean;
    }
  | {
      /** A znode could not be deleted. The client will try again. */
      readonly type: 'delete-retried';
      /** The znode. */
      readonly path: string;
      /** The reason. */
      readonly error: unknown;
    }
  | {
      /** An error that no call can report. The `logger` gets it too, and also gets changes of the connection. */
      readonly type: 'warning';
      /** The text, without the text of `error`. */
      readonly message: string;
      /** The error that caused the warning, if any. */
      readonly error: unknown;
    };
