import type { Session } from './session.js';

/**
 * A question about a lock's znode that all who ask it in one tick share. It is sent behind everything that was sent in that tick, in the same flush: a thousand acquires
 * at once would otherwise be answered with a thousand lists of a thousand names.
 */
export class OnceATick<T> {
  readonly #send: (session: Session, root: string) => Promise<T>;
  readonly #pending = new WeakMap<Session, Map<string, Promise<T>>>();

  constructor(send: (session: Session, root: string) => Promise<T>) {
    this.#send = send;
  }

  ask(session: Session, root: string): Promise<T> {
    const answers = this.#pending.get(session) ?? new Map<string, Promise<T>>();
    this.#pending.set(session, answers);
    const shared = answers.get(root);
    if (shared) return shared;
    const answer = new Promise<void>((resolve) => process.nextTick(resolve)).then(() => {
      answers.delete(root);
      return this.#send(session, root);
    });
    answers.set(root, answer);
    return answer;
  }
}
