import type { WriteStream } from 'node:tty';

const clearLine = '\r\u001b[2K';

/** Lines, and on a terminal one more below them that is written anew all the time. */
export class Screen {
  readonly #out: WriteStream;
  #status = '';

  constructor(out: WriteStream) {
    this.#out = out;
    // A reader that went away, as in `npm start | head`, is no reason to leave servers behind.
    out.on('error', () => undefined);
  }

  print(text: string): void {
    this.#out.write(this.#status === '' ? `${text}\n` : `${clearLine}${text}\n${this.#status}`);
  }

  /** @param text '' for none */
  status(text: string): void {
    if (!this.#out.isTTY) return;
    const status = fit(text, this.#out.columns || 80);
    if (status === this.#status) return;
    this.#status = status;
    this.#out.write(`${clearLine}${status}`);
  }
}

/** A line that wraps could not be cleared again. Some terminals say that they have no columns. */
function fit(text: string, columns: number): string {
  return text.length < columns ? text : `${text.slice(0, Math.max(0, columns - 2))}…`;
}
