/**
 * What a client does by itself, for logs and metrics; see {@link LockClient.on}. Session ids are written as the
 * servers' logs write them, paths as
 * the servers know them, chroot included.
 */
export type BackgroundEvent =
  | {
      /** A server accepted the session, at first or again. */
      readonly type: 'connected';
      /** The session. */
      readonly sessionId: string;
      /** `host:port`, as in the connect string. */
      readonly server: string;
    }
  | {
      /** The connection ended; the next server is tried at once. */
      readonly type: 'disconnected';
      /** The session. */
      readonly sessionId: string;
      /** Why. */
      readonly error: unknown;
    }
  | {
      /** The session is over; the next one is opened by itself. */
      readonly type: 'session-ended';
      /** The session. */
      readonly sessionId: string;
      /**
       * `expired`: the servers said so. `lost`: its deadline passed while something was held. `replaced`: nothing was
       * held, and the servers came
       * back with data older than what it had seen, so that they would never have answered it. `auth-failed`: they
       * refused the credentials.
       */
      readonly why: 'expired' | 'lost' | 'replaced' | 'auth-failed';
    }
  | {
      /**
       * A session that was lost or replaced here may have lived on at the servers, with its znodes. They say that it is
       * over.
       */
      readonly type: 'lost-session-closed';
      /** The session. */
      readonly sessionId: string;
    }
  | {
      /** The answer to a create was lost, so its znode was searched for. */
      readonly type: 'create-searched';
      /** What it was to be created under, without the number that the server appends. */
      readonly path: string;
      /** Whether it was there. */
      readonly found: boolean;
    }
  | {
      /** A znode could not be deleted, and is tried again. */
      readonly type: 'delete-retried';
      /** The znode. */
      readonly path: string;
      /** Why it could not. */
      readonly error: unknown;
    }
  | {
      /**
       * Something went wrong that no call can report. The `logger` hears of it, too, and of changes of the connection.
       */
      readonly type: 'warning';
      /** The text, without that of `error`. */
      readonly message: string;
      /** What was behind it, if anything. */
      readonly error: unknown;
    };
