import type { ServerResponse } from 'node:http';
import { eventJson, lockJson, stateJson } from '../board/lock-json.js';
import type { BoardChange, LockBoard } from '../board/lock-board.js';

/**
 * The server-sent events of a board, for any number of pages. A page first gets a snapshot, then each change. A page
 * that reads too slowly misses changes, and gets a snapshot again when it has caught up. The number of pages is limited,
 * also for each address.
 */
export class EventStream {
  readonly #board: LockBoard;
  readonly #allowRevoke: boolean;
  readonly #pages = new Set<Page>();
  readonly #stopListening: () => void;
  readonly #beat: NodeJS.Timeout;

  /** @param beatMs how often a page gets a byte while nothing changes */
  constructor(board: LockBoard, allowRevoke: boolean, beatMs: number) {
    this.#board = board;
    this.#allowRevoke = allowRevoke;
    this.#stopListening = board.onChange((change) => this.#changed(change));
    // Lets a proxy, and a page whose connection is dead, notice.
    this.#beat = setInterval(() => this.#send(': \n\n'), beatMs);
  }

  /** Why no page of this address can be opened now; undefined if it can. */
  refusalOf(address: string): string | undefined {
    if (this.#pages.size >= mostPages) return `${mostPages} pages are open, and more are not allowed`;
    const ofAddress = [...this.#pages].filter((page) => page.address === address).length;
    return ofAddress >= mostPagesOfAddress
      ? `${mostPagesOfAddress} pages of ${address} are open, and more of one address are not allowed`
      : undefined;
  }

  open(response: ServerResponse, address: string): void {
    const page: Page = { response, address, pace: 'ready' };
    this.#pages.add(page);
    response.once('close', () => this.#pages.delete(page));
    response.on('drain', () => this.#drained(page));
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    this.#write(page, `retry: 1000\n${this.#snapshot()}`);
  }

  close(): void {
    this.#stopListening();
    clearInterval(this.#beat);
    for (const { response } of this.#pages) response.end();
  }

  #changed({ locks, gone, events }: BoardChange): void {
    if (this.#pages.size === 0) return;
    const change = {
      now: new Date().toISOString(),
      state: stateJson(this.#board),
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

  #snapshot(): string {
    return messageOf('snapshot', {
      now: new Date().toISOString(),
      root: this.#board.root,
      allowRevoke: this.#allowRevoke,
      state: stateJson(this.#board),
      locks: [...this.#board.locks.values()].map((view) => lockJson(view, mostParticipants)),
      events: this.#board.events.map(eventJson),
    });
  }
}

interface Page {
  readonly response: ServerResponse;
  /** The other end of its connection: a header such as X-Forwarded-For says what its sender likes. */
  readonly address: string;
  /** `behind`: its connection has no room now. `missed`: and a change was left out. */
  pace: 'ready' | 'behind' | 'missed';
}

function messageOf(event: string, content: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(content)}\n\n`;
}

/** More waiters than a page can show at a glance are in `GET /api/locks?path=`. */
const mostParticipants = 20;

const mostPages = 100;

const mostPagesOfAddress = 20;
