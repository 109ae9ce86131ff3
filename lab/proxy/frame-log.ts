import type { Frame } from './zk-frame.ts';

type Match = (frame: Frame) => boolean;

interface Waiter {
  readonly match: Match;
  missing: number;
  resolve(frame: Frame): void;
  reject(error: Error): void;
}

const limitMs = 10_000;

/** The frames that arrived at a proxy, and the waiters for a frame. */
export class FrameLog {
  readonly frames: Frame[] = [];
  readonly #waiters = new Set<Waiter>();

  add(frame: Frame): void {
    this.frames.push(frame);
    for (const waiter of this.#waiters) {
      if (!waiter.match(frame)) continue;
      waiter.missing--;
      if (waiter.missing === 0) waiter.resolve(frame);
    }
  }

  clear(): void {
    this.frames.length = 0;
  }

  seen(match: Match, count = 1): Promise<Frame> {
    const past = this.frames.filter(match);
    const already = past[count - 1];
    if (already !== undefined) return Promise.resolve(already);
    return new Promise((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
      };
      const waiter: Waiter = {
        match,
        missing: count - past.length,
        resolve: (frame) => (settle(), resolve(frame)),
        reject: (error) => (settle(), reject(error)),
      };
      const timer = setTimeout(() => waiter.reject(this.#notSeen(waiter, count, `within ${limitMs} ms`)), limitMs);
      this.#waiters.add(waiter);
    });
  }

  close(): void {
    for (const waiter of this.#waiters)
      waiter.reject(new Error(`The proxy was closed before it saw ${waiter.match.toString()}`));
  }

  #notSeen({ match, missing }: Waiter, count: number, when: string): Error {
    const last = this.frames.slice(-10).map(describe).join('\n');
    return new Error(
      `${count - missing} of ${count} frames seen ${when} for ${match.toString()}. The last of ${this.frames.length}:\n${last}`,
    );
  }
}

function describe({ from, op, connection, xid, err, path }: Frame): string {
  const arrow = from === 'client' ? '→' : '←';
  return `  #${connection} ${arrow} ${op} xid ${xid}${path === undefined ? '' : ` ${path}`}${err === undefined ? '' : ` err ${err}`}`;
}
