import { EventEmitter } from 'node:events';
import type { Link } from '../../src/zookeeper/network/network.ts';

/** A connection whose bytes come from the test. */
export class FakeLink extends EventEmitter implements Link {
  destroyed = false;
  errored: Error | null = null;
  readonly writableNeedDrain = false;
  /** The frames that the client has written. */
  readonly written: Buffer[] = [];

  write(chunk: Uint8Array): boolean {
    this.written.push(Buffer.from(chunk));
    return true;
  }

  destroy(error?: Error): void {
    if (this.destroyed) return;
    this.destroyed = true;
    this.errored = error ?? null;
    setImmediate(() => this.emit('close'));
  }
}
