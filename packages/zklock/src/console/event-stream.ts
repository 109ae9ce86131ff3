import type { ServerResponse } from 'node:http';
import { eventJson, lockJson, stateJson, unreadableJson, type UnreadableJson } from '../board/lock-json.js';
import type { BoardChange, LockBoard } from '../board/lock-board.js';

/**
 * The server-sent events of a board, for any number of pages. A page first gets a snapshot, then each change. A page
 * that reads too slowly misses changes, and gets a snapshot again when it has caught up. The number of pages is limited,
 * also for each address. A full stream ends an old page for a new one: the kernel takes bytes for a page that never reads,
 * so nothing shows that such a page is dead, but only a living one connects again.
 */
export class EventStream {
  readonly #board: LockBoard;
  readonly #allowRevoke: boolean;
  readonly #stalledMs: number;
  /** The oldest first. */
  readonly #pages = new Set<Page>();
  readonly #stopListening: () => void;
  readonly #beat: NodeJS.Timeout;

  /** @param stalledMs how long a connection may take no byte: a page gets one more often, also while nothing changes */
  constructor(board: LockBoard, allowRevoke: boolean, stalledMs: number) {
    this.#board = board;
    this.#allowRevoke = allowRevoke;
    this.#stalledMs = stalledMs;
    this.#stopListening = board.onChange((change) => this.#changed(change));
    // Lets a proxy, and a page whose connection is dead, notice.
    this.#beat = setInterval(() => this.#send(': \n\n'), stalledMs / 2);
  }

  /** Opens a page, or returns why it is refused. */
  open(response: ServerResponse, address: string): string | undefined {
    const refusal = this.#makePlace(address);
    if (refusal !== undefined) return refusal;
    const page: Page = { response, address, openedAt: performance.now(), pace: 'ready' };
    this.#pages.add(page);
    response.once('close', () => this.#pages.delete(page));
    response.on('drain', () => this.#drained(page));
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    this.#write(page, `retry: 1000\n${this.#snapshot()}`);
    return undefined;
  }

  close(): void {
    this.#stopListening();
    clearInterval(this.#beat);
    for (const { response } of this.#pages) response.end();
  }

  /** Only an address with more pages than the others loses one to them, so no address can push out the others. */
  #makePlace(address: string): string | undefined {
    const own = [...this.#pages].filter((page) => page.address === address);
    const [oldest] = own;
    if (oldest && own.length >= mostPagesOfAddress) {
      if (performance.now() - oldest.openedAt < this.#stalledMs)
        return `${mostPagesOfAddress} pages of ${address} are open, and more of one address are not allowed`;
      this.#end(oldest);
    } else if (this.#pages.size >= mostPages) {
      this.#end(this.#oldestOfMost(address));
    }
    return undefined;
  }

  /** The oldest page of the address that would have the most with one more page of `address`. */
  #oldestOfMost(address: string): Page | undefined {
    const counts = new Map([[address, 1]]);
    for (const page of this.#pages) counts.set(page.address, (counts.get(page.address) ?? 0) + 1);
    const most = Math.max(...[...this.#pages].map((page) => counts.get(page.address) ?? 0));
    return [...this.#pages].find((page) => counts.get(page.address) === most);
  }

  /** Where more pages than places are alive, they take turns: each comes back so late that it does not push out the next at once. */
  #end(page: Page | undefined): void {
    if (!page) return;
    this.#pages.delete(page);
    if (page.pace === 'ready') page.response.end(`retry: ${returnMs}\n\n`);
    else page.response.destroy();
  }

  #changed({ locks, gone, events }: BoardChange): void {
    if (this.#pages.size === 0) return;
    const change = {
      now: new Date().toISOString(),
      state: stateJson(this.#board),
      ...this.#unreadable(),
      locks: locks.map((view) => lockJson(view, mostParticipants)),
      gone,
      events: events.map(eventJson),
    };
    this.#send(messageOf('change', change));
  }

  #send(message: string): void {
    for (const page of this.#pages) {
      if (page.pace === 'ready') this.#write(page, message);
      else page.pace = 'missed';
    }
  }

  #write(page: Page, message: string): void {
    page.pace = page.response.write(message) ? 'ready' : 'behind';
  }

  #drained(page: Page): void {
    const { pace } = page;
    page.pace = 'ready';
    if (pace === 'missed') this.#write(page, this.#snapshot());
  }

  #unreadable(): { readonly unreadable: readonly UnreadableJson[]; readonly unreadableCount: number } {
    const all = unreadableJson(this.#board);
    return { unreadable: all.slice(0, mostUnreadable), unreadableCount: all.length };
  }

  #snapshot(): string {
    return messageOf('snapshot', {
      now: new Date().toISOString(),
      root: this.#board.root,
      allowRevoke: this.#allowRevoke,
      state: stateJson(this.#board),
      ...this.#unreadable(),
      locks: [...this.#board.locks.values()].map((view) => lockJson(view, mostParticipants)),
      events: this.#board.events.map(eventJson),
    });
  }
}

interface Page {
  readonly response: ServerResponse;
  /** The other end of its connection: a header such as X-Forwarded-For says what its sender likes. */
  readonly address: string;
  readonly openedAt: number;
  /** `behind`: its connection has no room now. `missed`: and a change was left out. */
  pace: 'ready' | 'behind' | 'missed';
}

function messageOf(event: string, content: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(content)}\n\n`;
}

/** More waiters than a page can show at a glance are in `GET /api/locks?path=`. */
const mostParticipants = 20;

/** More of them are in `GET /api/locks`. */
const mostUnreadable = 20;

const mostPages = 100;

const mostPagesOfAddress = 20;

const returnMs = 10_000;
