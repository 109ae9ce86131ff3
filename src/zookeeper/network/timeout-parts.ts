/**
 * The parts of a session timeout: it is divided by these numbers. No other file of this room divides it. What users see
 * of these parts is in `docs/timeouts.md`.
 */
export const divisors = {
  // The proof that the session lives.

  /** Not used by a hold, because the clocks of two machines run at different rates. */
  margin: 10,
  /** The longest time between two pings of a leader that still commits: an assumption, far above the leader's half tick. */
  relay: 3,
  /** From one heartbeat to the next. */
  heartbeat: 6,
  /** A heartbeat that is late by so much counts as missing. */
  lateHeartbeat: 24,
  /** From one pulse to the next of a quiet session. Two must fit into `silence`. */
  quietPulse: 3,
  /** The time that a grant needs until the deadline. */
  leftAtGrant: 2,
  /** The same while heartbeats go on, because the next proof is on its way. */
  leftAtGrantWhileBeating: 4,
  /** From one question for a proof to the next. No proof arrives earlier, because the leader must learn of it. */
  proofPause: 24,

  // The end of a connection.

  /** A connection without an answer is given up. The last third is left for the other servers. */
  silence: 1.5,
  /** The same while a lock is held. */
  silenceWithHold: 4,
  /** The end of a connection after such a silence is no answer. Longer than the longest round trip that is served. */
  silentEnd: 12,
  /** A request that was sent late, because the process did not run, has at least so long. */
  lateRequest: 6,
  /** A tick that is late by so much shows that the process did not run, which is worth telling for as long. */
  stall: 4,
  /** The requests in flight have so long for their answers before an attach exchanges the connections. */
  drain: 4,
  /** After so long, the proof begins on the present connection although the session attaches. */
  slowAttach: 24,

  // The next connection.

  firstAttempt: 24,
  longestAttempt: 3,
  /** The pause before a round over the servers is at least so long, also just before the deadline of a hold. */
  pauseWithHold: 48,

  // The requests.

  /** The longest wait behind the others. Heartbeats could bear twice that, but a proof takes three requests in turn. */
  waitBehindOthers: 24,
  /**
   * The longest pause of a heartbeat that was put off. The next proof takes four requests in turn, with 0.4 of the timeout
   * for their tries. A server that puts off four of five needs more than fifty tries for four once in 200 times, but more
   * than a hundred hardly ever.
   */
  postponedHeartbeat: 192,
} as const;
