/** The ids that one member gives to new sessions: the number of the server, the time of its start, and a count. */
export class SessionIds {
  #next: bigint;

  constructor(member: number, startedAt: number) {
    const time = BigInt.asUintN(64, BigInt(Math.floor(startedAt)) << 24n) >> 8n;
    this.#next = BigInt.asIntN(64, (BigInt(member + 1) << 56n) | time);
  }

  next(): bigint {
    this.#next += 1n;
    return this.#next;
  }
}

/** Each member can calculate the password of each session, because all members have the same secret. */
export function passwordOf(sessionId: bigint, secret: number): Buffer {
  const password = Buffer.allocUnsafe(16);
  let state = Number(BigInt.asIntN(32, sessionId)) ^ Number(BigInt.asIntN(32, sessionId >> 32n)) ^ secret;
  for (let at = 0; at < 16; at += 4) {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x6d2b79f5) | 0;
    password.writeInt32LE(state ^ (state >>> 13), at);
  }
  return password;
}
