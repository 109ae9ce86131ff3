import type { WriteStream } from 'node:tty';

const clearLine = '\r\u001b[2K';

/** Prints lines. On a terminal, one more line below them shows the current status. */
export class Screen {
  readonly #out: WriteStream;
  #status = '';

  constructor(out: WriteStream) {
    this.#out = out;
    // If the reader goes away, as in `npm start | head`, the demonstration must still stop its servers.
    out.on('error', () => undefined);
  }

  print(text: string): void {
    this.#out.write(this.#status === '' ? `${text}\n` : `${clearLine}${text}\n${this.#status}`);
  }

  /** @param text '' for no status line */
  status(text: string): void {
    if (!this.#out.isTTY) return;
    const status = fit(text, this.#out.columns || 80);
    if (status === this.#status) return;
    this.#status = status;
    this.#out.write(`${clearLine}${status}`);
  }
}

/** A line that wraps could not be cleared. Some terminals report that they have no columns. */
function fit(text: string, columns: number): string {
  return text.length < columns ? text : `${text.slice(0, Math.max(0, columns - 2))}…`;
}
