import type { Kind } from './messages.ts';

/** The requests of one connection whose answers are due, the oldest first. */
export class Outstanding {
  readonly #requests: SentAt[] = [];
  /** The time of the last answer to a request that is no ping. */
  #answeredAt = -Infinity;

  get isEmpty(): boolean {
    return this.#requests.length === 0;
  }

  get hasHeartbeat(): boolean {
    return this.#requests.some(({ is }) => is === 'heartbeat');
  }

  get hasPing(): boolean {
    return this.#requests.some(({ is }) => is === 'ping');
  }

  /** True if at most a ping is outstanding, which an attach does not wait for. */
  get isDrained(): boolean {
    return this.#oldest === undefined;
  }

  /** The time since which the server owes the next answer. As in connection.ts, a ping counts only if it is alone. */
  get since(): number | undefined {
    return this.#oldest ? Math.max(this.#oldest.sentAt, this.#answeredAt) : this.#requests[0]?.sentAt;
  }

  add(sent: Sent, sentAt: number): void {
    this.#requests.push({ ...sent, sentAt });
  }

  answered(now: number): SentAt {
    const request = this.#requests.shift();
    if (!request) throw new Error('The model got an answer without a request');
    if (request.is !== 'ping') this.#answeredAt = now;
    return request;
  }

  fail(): void {
    this.#requests.length = 0;
  }

  get #oldest(): SentAt | undefined {
    return this.#requests.find(({ is }) => is !== 'ping');
  }
}

export interface Sent {
  readonly kind: Kind;
  readonly is: 'heartbeat' | 'extra' | 'ping' | 'other';
}

interface SentAt extends Sent {
  readonly sentAt: number;
}
