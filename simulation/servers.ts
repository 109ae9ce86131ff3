/** The servers that the clients of a simulation talk to. */
export interface Servers {
  readonly members: number;
  /** A client's connection has arrived at this member. False if the member does not run. */
  accept(member: number, end: ServerEnd): boolean;
  committed(): Committed;
  /** Calls the listener after each committed transaction that creates or deletes znodes, with their paths. */
  onCommit(listener: (created: readonly string[], deleted: readonly string[]) => void): void;
  readonly faults: ServerFaults;
}

/** The server's end of a connection. */
export interface ServerEnd {
  write(chunk: Buffer): void;
  destroy(): void;
  onData(listener: (chunk: Buffer) => void): void;
  onClose(listener: () => void): void;
}

/** The tree as the newest committed transaction has left it. */
export interface Committed {
  /** The names below a path; empty if it does not exist. */
  children(path: string): readonly string[];
  /** The session that an ephemeral znode belongs to, 0n for another znode; undefined if it does not exist. */
  ownerOf(path: string): bigint | undefined;
}

/** Faults of the servers, and the acts of a third party. */
export interface ServerFaults {
  expire(sessionId: bigint): void;
  deleteZnode(path: string): void;
  /** Cuts a member from all others, until `heal`. */
  cut(member: number): void;
  heal(member: number): void;
  /** Each message between the member and the others takes longer by `byMs`, until the returned function is called. */
  slowDown(member: number, byMs: number): () => void;
  crash(member: number): void;
  restart(member: number): void;
  /** Cuts the leader off. Another member is elected; the old leader goes on answering until it notices. Healed by `heal`. */
  depose(): number | undefined;
}
