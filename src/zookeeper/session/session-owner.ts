/** The object that opened a session, which tells it what happens. It implements what it needs to know. */
export interface SessionOwner<Of> {
  /** The server may still refuse the client's account. */
  connected?(session: Of): void;
  /** The connected server has answered for the first time, so it accepts the client's account. */
  answered?(session: Of): void;
  suspended?(session: Of): void;
  /** The deadline passed and nothing was held. The session may still be alive on the servers. */
  overdue?(session: Of): void;
  /**
   * Every host was tried since the session was presumed to be over, and none answered. Called again after each further
   * attempt.
   */
  unanswered?(session: Of): void;
  /** @param lost the number of the application's locks that were lost with the session */
  ended?(session: Of, why: SessionEnd, lost: number): void;
  /**
   * The session was given up while the servers may still know it, and every job that lost its hold with it has
   * released. Nothing needs its znodes any more.
   */
  settled?(session: Of): void;
  warn?(message: string, error: unknown): void;
}

/** How a session has ended. `given-up`: it may own a znode that this client cannot find. */
export type SessionEnd = 'expired' | 'lost' | 'replaced' | 'given-up' | 'closed' | 'auth-failed';
