import type { Reply } from './connection.js';
import type { Operation } from './operations.js';
import { isRetryable } from './zookeeper-error.js';

/** What may be asked again, because it changes nothing, or nothing more: one request, or several of one session. */
export type Question<T, Asked> = Operation<T> | ((session: Asked) => Promise<T>);

/**
 * What the question comes to. Where an answer was lost, all of it is asked again, of the `next` session; undefined
 * where there is none.
 *
 * @param first asked in this very call, if there is one
 * @throws ZooKeeperError for what a server refuses
 */
export async function untilAnswered<T, Asked extends Askable, None extends undefined = never>(
  question: Question<T, Asked>,
  first: Asked | undefined,
  next: () => Promise<Asked | None>,
): Promise<T | None> {
  for (let session: Asked | None = first ?? (await next()); ; session = await next()) {
    if (session === undefined) return session;
    try {
      return await (typeof question === 'function'
        ? question(session)
        : session.request(question).then(({ value }) => value));
    } catch (error) {
      if (!isRetryable(error)) throw error;
    }
  }
}

interface Askable {
  request<T>(operation: Operation<T>): Promise<Reply<T>>;
}
