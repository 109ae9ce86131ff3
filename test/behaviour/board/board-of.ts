import { LockBoard } from '../../../packages/zklock/src/board/lock-board.ts';
import { lockJson, type LockJson } from '../../../packages/zklock/src/board/lock-json.ts';
import type { LockClient } from '../../../src/index.ts';

/** A board that a test can wait for. */
export class WatchedBoard implements Disposable {
  readonly board: LockBoard;

  constructor(client: LockClient, root: string) {
    this.board = new LockBoard(client.host, root);
  }

  get events(): [type: string, from: string | undefined, to: string | undefined][] {
    return this.board.events.map(({ type, from, to }) => [type, from?.path, to?.path]);
  }

  lock(path: string): LockJson | undefined {
    const view = this.board.locks.get(path);
    return view && lockJson(view);
  }

  /** The paths of the holders, and those of the waiters. */
  queue(path: string): { holders: string[]; waiters: string[] } | undefined {
    const lock = this.lock(path);
    return lock && { holders: lock.holders.map((one) => one.path), waiters: lock.waiters.map((one) => one.path) };
  }

  /** Resolves when the board is live and `look` returns true, now or after one of its changes. */
  async shows(look: () => boolean): Promise<void> {
    const isShown = (): boolean => this.board.state.is === 'live' && look();
    while (!isShown()) await this.changed();
  }

  live(): Promise<void> {
    return this.shows(() => true);
  }

  /** Resolves when the board is cut off, now or after one of its changes. */
  async cutOff(): Promise<void> {
    while (this.board.state.is !== 'cut-off') await this.changed();
  }

  changed(): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.board.onChange(() => {
        stop();
        resolve();
      });
    });
  }

  [Symbol.dispose](): void {
    this.board.close();
  }
}
