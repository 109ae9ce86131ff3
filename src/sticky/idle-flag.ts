import { inNoContext } from '../support/no-context.js';
import { getData, setData } from '../zookeeper/operations.js';
import { markIdle } from '../internals/idle-mark.js';
import type { LockNode } from '../internals/lock-node.js';

/**
 * Shows others, in the data of a sticky lock's znode, that nobody uses it: that it is idle in the list of participants,
 * and that asking is worth while. It may
 * lag behind, since it decides nothing; but a write whose answer was lost, or that could not be sent, is made good on
 * the next connection.
 */
export class IdleFlag {
  readonly #node: LockNode;
  readonly #data: () => Uint8Array;
  #wanted: Use = 'busy';
  #written: Use | 'unknown' = 'busy';
  #version = 0;
  #isWriting = false;
  #isOver = false;

  /** @param data what is in the znode while it is used */
  constructor(node: LockNode, data: () => Uint8Array) {
    this.#node = node;
    this.#data = data;
  }

  /** As far as it was asked to show. */
  get isUp(): boolean {
    return this.#wanted === 'idle';
  }

  show(use: Use): void {
    this.#wanted = use;
    this.catchUp();
  }

  /** The session may be connected again. */
  catchUp(): void {
    if (this.#written !== this.#wanted) void inNoContext(() => this.#write());
  }

  /** Nothing is shown by it any more. */
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
      // Nobody awaits it: the next connection, or the next use, tries again.
    } finally {
      this.#isWriting = false;
    }
  }

  /** Over what we wrote ourselves only: somebody's wish in it must not get lost. */
  async #writeOver(): Promise<void> {
    const { session, path } = this.#node;
    const use = this.#wanted;
    const data = this.#data();
    this.#written = 'unknown';
    const { value } = await session.request(setData(path, use === 'idle' ? markIdle(data) : data, this.#version));
    this.#version = value.version;
    this.#written = use;
  }

  /** After a lost answer: what is in it? Answers false when that is somebody else's. */
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
