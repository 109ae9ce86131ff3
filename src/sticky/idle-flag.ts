import { inNoContext } from '../support/no-context.js';
import { getData, setData } from '../zookeeper/wire/operations.js';
import { markIdle } from '../internals/znode/znode-data.js';
import type { LockNode } from '../internals/znode/lock-node.js';

/**
 * Marks in the data of a sticky lock's znode that the lock is idle, so that the list of participants shows it, and
 * other clients know that asking is worth while. The mark may lag behind, because it decides nothing. A write whose
 * answer was lost, or that could not be sent, is repeated on the next connection.
 */
export class IdleFlag {
  readonly #node: LockNode;
  readonly #data: () => Uint8Array;
  #wanted: Use = 'busy';
  #written: Use | 'unknown' = 'busy';
  #version = 0;
  #isWriting = false;
  #isOver = false;

  /** @param data returns the data of the znode while the lock is used */
  constructor(node: LockNode, data: () => Uint8Array) {
    this.#node = node;
    this.#data = data;
  }

  /** True if the flag was last asked to show `idle`. */
  get isUp(): boolean {
    return this.#wanted === 'idle';
  }

  show(use: Use): void {
    this.#wanted = use;
    this.catchUp();
  }

  /** Writes what is missing; called when the session may be connected again. */
  catchUp(): void {
    if (this.#written !== this.#wanted) void inNoContext(() => this.#write());
  }

  /** Stops all further writes. */
  end(): void {
    this.#isOver = true;
  }

  async #write(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    try {
      while (this.#written !== this.#wanted && !this.#isOver && this.#node.session.isConnected) {
        if (this.#written !== 'unknown') await this.#writeOver();
        else if (!(await this.#learn())) return;
      }
    } catch {
      // Nothing awaits this write; the next connection or the next use tries again.
    } finally {
      this.#isWriting = false;
    }
  }

  /** Writes only over data that this client wrote, so that a revocation request of another client is not lost. */
  async #writeOver(): Promise<void> {
    const { session, path } = this.#node;
    const use = this.#wanted;
    const data = this.#data();
    this.#written = 'unknown';
    const { value } = await session.request(setData(path, use === 'idle' ? markIdle(data) : data, this.#version));
    this.#version = value.version;
    this.#written = use;
  }

  /** Reads the data after a lost answer. Resolves with false if another client wrote them. */
  async #learn(): Promise<boolean> {
    const { value } = await this.#node.session.request(getData(this.#node.path, false));
    const data = this.#data();
    if (value.data.equals(data)) this.#written = 'busy';
    else if (value.data.equals(markIdle(data))) this.#written = 'idle';
    else return false;
    this.#version = value.stat.version;
    return true;
  }
}

type Use = 'busy' | 'idle';
