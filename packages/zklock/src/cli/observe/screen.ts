import { lockJson } from '../../board/lock-json.js';
import type { LockBoard } from '../../board/lock-board.js';
import type { LockView } from '../../board/lock-view.js';
import { exitCodeOfSignal, exitCodes } from '../exit-code.js';
import type { Io } from '../io.js';
import { screenText, type Order } from './screen-text.js';

/** Fills the terminal with the locks, until the user leaves. */
export async function showScreen(board: LockBoard, io: Io): Promise<number> {
  const screen = new Screen(board, io);
  try {
    return await screen.run();
  } finally {
    screen.leave();
  }
}

/**
 * The full-screen view. It is painted at most every 100 ms, and once a second for the ages: only the lines that are
 * visible are made.
 */
class Screen {
  readonly #board: LockBoard;
  readonly #io: Io;
  readonly #stops: (() => void)[] = [];
  #order: Order = 'path';
  #top = 0;
  #painted = '';
  #timer: NodeJS.Timeout | undefined;
  #sorted: LockView[] | undefined;
  readonly #changedAt = new Map<string, number>();

  constructor(board: LockBoard, io: Io) {
    this.#board = board;
    this.#io = io;
  }

  run(): Promise<number> {
    const { stdin, stdout } = this.#io;
    stdout.write(alternateScreen);
    (stdin as { setRawMode?: (isRaw: boolean) => void }).setRawMode?.(true);
    stdin.resume();
    return new Promise((resolve) => {
      this.#listen(resolve);
      this.#paint();
    });
  }

  leave(): void {
    const { stdin, stdout } = this.#io;
    clearTimeout(this.#timer);
    for (const stop of this.#stops) stop();
    (stdin as { setRawMode?: (isRaw: boolean) => void }).setRawMode?.(false);
    stdin.pause();
    stdout.write(normalScreen);
  }

  #listen(end: (code: number) => void): void {
    const { stdin, stdout } = this.#io;
    const onKeys = (keys: Buffer | string): void => {
      // A key that is held down comes several times at once.
      for (const [key] of String(keys).matchAll(keyPattern)) if (!this.#pressed(key)) end(exitCodes.success);
    };
    const onResize = (): void => this.#paintSoon(0);
    stdin.on('data', onKeys);
    stdout.on('resize', onResize);
    const ticks = setInterval(() => this.#paintSoon(0), 1_000);
    this.#stops.push(
      () => stdin.off('data', onKeys),
      () => stdout.off('resize', onResize),
      () => clearInterval(ticks),
      this.#board.onChange(({ locks, gone }) => {
        const now = Date.now();
        for (const { path } of locks) this.#changedAt.set(path, now);
        for (const path of gone) this.#changedAt.delete(path);
        this.#sorted = undefined;
        this.#paintSoon(paintPauseMs);
      }),
      ...(['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) =>
        this.#io.onSignal(signal, () => end(exitCodeOfSignal(signal))),
      ),
    );
  }

  /** Returns false if the user leaves. In raw mode, ^C is a key. */
  #pressed(key: string): boolean {
    const page = Math.max(1, (this.#io.stdout.rows ?? 24) - 6);
    const moves: Readonly<Record<string, number>> = {
      '\u001b[A': -1,
      k: -1,
      '\u001b[B': 1,
      j: 1,
      '\u001b[5~': -page,
      '\u001b[6~': page,
      ' ': page,
      '\u001b[H': -Infinity,
      '\u001b[F': Infinity,
    };
    if (key === 'q' || key === 'Q' || key === '\u0003' || key === '\u0004') return false;
    if (key === 's') {
      this.#order = nextOrder[this.#order];
      this.#sorted = undefined;
    }
    this.#top = Math.max(0, Math.min(this.#board.locks.size - 1, this.#top + (moves[key] ?? 0)));
    this.#paintSoon(0);
    return true;
  }

  #paintSoon(delayMs: number): void {
    if (delayMs > 0 && this.#timer) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#paint(), delayMs);
  }

  #paint(): void {
    this.#timer = undefined;
    const { columns = 80, rows = 24 } = this.#io.stdout;
    this.#sorted ??= this.#inOrder();
    this.#top = Math.max(0, Math.min(this.#top, this.#sorted.length - 1));
    const text = screenText(this.#sorted, {
      columns,
      rows,
      top: this.#top,
      order: this.#order,
      root: this.#board.root,
      state: this.#board.state,
      unreadable: this.#board.unreadable,
      events: this.#board.events.slice(-eventLines),
      nowMs: Date.now(),
      json: (view) => lockJson(view, 1),
    });
    if (text === this.#painted) return;
    this.#painted = text;
    this.#io.stdout.write(`${home}${text.replaceAll('\n', `${clearLine}\r\n`)}${clearLine}${clearBelow}`);
  }

  #inOrder(): LockView[] {
    const views = [...this.#board.locks.values()];
    const byPath = (a: LockView, b: LockView): number => (a.path < b.path ? -1 : 1);
    if (this.#order === 'path') return views.sort(byPath);
    if (this.#order === 'waiters') return views.sort((a, b) => b.waiters.length - a.waiters.length || byPath(a, b));
    const at = ({ path }: LockView): number => this.#changedAt.get(path) ?? 0;
    return views.sort((a, b) => at(b) - at(a) || byPath(a, b));
  }
}

const nextOrder: Readonly<Record<Order, Order>> = { path: 'waiters', waiters: 'change', change: 'path' };

/** The number of the newest events that the screen shows. */
const eventLines = 5;

const paintPauseMs = 100;

// oxlint-disable-next-line no-control-regex -- the first character of the arrow and page keys
const keyPattern = /\u001b\[\d*[A-Z~]|[^]/g;

const alternateScreen = '\u001b[?1049h\u001b[?25l';
const normalScreen = '\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLine = '\u001b[K';
const clearBelow = '\u001b[J';
