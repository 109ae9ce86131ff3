import { parentOf } from '../../src/zookeeper/wire/path.ts';
import { inQueueOrder, sequenceOf } from '../claim.ts';
import type { LockPlan } from '../plan.ts';
import type { SimClient } from '../sim-client.ts';
import type { Bench } from './bench.ts';
import { isQueue } from './herd.ts';

/**
 * I10: a client that has held nothing, and could be granted nothing, for one session timeout sends no transaction. That
 * is a client without a call, or one whose calls all wait in a queue behind two others at least.
 */
export class Quiet {
  readonly #bench: Bench;
  readonly #quietMs: number;
  readonly #folders: readonly string[];
  /** When a znode of a session last came or went, or it became one of the next two of a queue. */
  readonly #movedAt = new Map<bigint, number>();
  /** The clients that have sent a transaction in the event that runs. */
  readonly #suspects = new Set<SimClient>();
  /** The session of each ephemeral znode, because a znode that is gone has none. */
  readonly #owners = new Map<string, bigint>();

  constructor(bench: Bench, locks: readonly LockPlan[], sessionTimeoutMs: number) {
    this.#bench = bench;
    this.#quietMs = sessionTimeoutMs * 1.3;
    this.#folders = locks.filter(isQueue).map(({ path }) => path);
  }

  /** The client sends a transaction. Judged after the event, because a call may settle in it. */
  wrote(client: SimClient): void {
    this.#suspects.add(client);
  }

  changed(created: readonly string[], deleted: readonly string[]): void {
    for (const path of created) {
      const owner = this.#bench.committed().ownerOf(path) ?? 0n;
      if (owner === 0n) continue;
      this.#owners.set(path, owner);
      this.#moved(owner);
    }
    for (const path of deleted) {
      this.#moved(this.#owners.get(path) ?? 0n);
      this.#owners.delete(path);
      if (!this.#isInQueue(path)) continue;
      const folder = parentOf(path);
      const behind = this.#queueOf(folder).filter((name) => sequenceOf(name) > sequenceOf(path));
      for (const name of behind.slice(0, 2)) this.#moved(this.#owners.get(`${folder}/${name}`) ?? 0n);
    }
  }

  /** Called after each event in which code of a client ran. */
  look(clients: readonly SimClient[]): void {
    for (const client of clients) if (isInUse(client)) client.noteUse();
    for (const client of this.#suspects) this.#judge(client);
    this.#suspects.clear();
  }

  #judge({ name, client, process, open, waits, idleSince }: SimClient): void {
    if (!client || client.host.isClosing || open > waits) return;
    // It has opened a new session after an outage, and proves it.
    if (client.state === 'lost') return;
    const { id, znodes } = client.session;
    if (waits === 0 ? znodes > 0 || this.#hasZnode(id) : !this.#isFarBack(id, waits)) return;
    const since = Math.max(idleSince, process.stalledUntil, this.#movedAt.get(id) ?? 0);
    const quietMs = this.#bench.now() - since;
    if (quietMs <= this.#quietMs) return;
    const doing = waits === 0 ? 'been idle' : 'waited behind two others';
    this.#bench.tell('I10', `${name} has ${doing} for ${Math.round(quietMs)} ms, and sends a transaction`);
  }

  /** Also one that the client does not know: a server that was cut off may carry out a create long after its call. */
  #hasZnode(session: bigint): boolean {
    return [...this.#owners.values()].includes(session);
  }

  /** True if all calls of the session wait in queues, and none is first or second there. */
  #isFarBack(session: bigint, waits: number): boolean {
    let waiting = 0;
    for (const folder of this.#folders)
      for (const [index, name] of this.#queueOf(folder).entries()) {
        if (this.#owners.get(`${folder}/${name}`) !== session) continue;
        if (index < 2) return false;
        waiting += 1;
      }
    return waiting === waits;
  }

  #queueOf(folder: string): string[] {
    return inQueueOrder(this.#bench.committed().children(folder));
  }

  #isInQueue(path: string): boolean {
    return this.#folders.includes(parentOf(path));
  }

  #moved(session: bigint): void {
    this.#movedAt.set(session, this.#bench.now());
  }
}

/**
 * A client with a znode, such as that of an idle sticky lock, is not idle. It counts from the moment when the client
 * learns that the znode is gone, because a slow link tells it late.
 */
function isInUse({ open, waits, client }: SimClient): boolean {
  return waits === 0 && (open > 0 || (client?.session.znodes ?? 0) > 0);
}
