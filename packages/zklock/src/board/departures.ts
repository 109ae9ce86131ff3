import type { ParticipantZnode } from './participant-znode.js';

/**
 * The participants of each session. ZooKeeper deletes the znodes of a session that ends in one transaction. Nothing else
 * distinguishes that from a release.
 */
export class Departures {
  readonly #present = new Map<string, Set<ParticipantZnode>>();
  /** The participants that have left since the last `forget`. */
  readonly #left = new Map<string, ParticipantZnode[]>();

  joined(znode: ParticipantZnode): void {
    const sessionId = znode.content?.sessionId;
    if (sessionId === undefined) return;
    const others = this.#present.get(sessionId);
    if (others) others.add(znode);
    else this.#present.set(sessionId, new Set([znode]));
  }

  left(znode: ParticipantZnode): void {
    const sessionId = znode.content?.sessionId;
    if (sessionId === undefined) return;
    const others = this.#present.get(sessionId);
    others?.delete(znode);
    if (others?.size === 0) this.#present.delete(sessionId);
    this.#left.set(sessionId, [...(this.#left.get(sessionId) ?? []), znode]);
  }

  /**
   * True if the session's znodes have all left together, and one of them waited: a program that releases does not stop
   * waiting for other locks in the same moment.
   */
  hasEnded(znode: ParticipantZnode): boolean {
    const sessionId = znode.content?.sessionId;
    if (sessionId === undefined || this.#present.has(sessionId)) return false;
    return this.#left.get(sessionId)?.some((other) => !other.isHolder) ?? false;
  }

  forget(): void {
    this.#left.clear();
  }
}
