import type { ServerResponse } from 'node:http';
import { eventJson, lockJson, stateJson } from '../board/lock-json.js';
import type { BoardChange, LockBoard } from '../board/lock-board.js';

/**
 * The server-sent events of a board, for any number of pages. A page first gets a snapshot, then each change. A page
 * that reads too slowly misses changes, and gets a snapshot again when it has caught up.
 */
export class EventStream {
  readonly #board: LockBoard;
  readonly #allowRevoke: boolean;
  readonly #pages = new Set<Page>();
  readonly #stopListening: () => void;
  readonly #beat: NodeJS.Timeout;

  constructor(board: LockBoard, allowRevoke: boolean) {
    this.#board = board;
    this.#allowRevoke = allowRevoke;
    this.#stopListening = board.onChange((change) => this.#changed(change));
    // Lets a proxy, and a page whose connection is dead, notice.
    this.#beat = setInterval(() => this.#send(': \n\n'), beatMs);
  }

  get isFull(): boolean {
    return this.#pages.size >= mostPages;
  }

  open(response: ServerResponse): void {
    const page: Page = { response, pace: 'ready' };
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
  /** `behind`: its connection has no room now. `missed`: and a change was left out. */
  pace: 'ready' | 'behind' | 'missed';
}

function messageOf(event: string, content: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(content)}\n\n`;
}

/** More waiters than a page can show at a glance are in `GET /api/locks?path=`. */
const mostParticipants = 20;

const mostPages = 100;

const beatMs = 15_000;
