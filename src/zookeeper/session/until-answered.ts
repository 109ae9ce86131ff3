import type { Operation } from '../wire/operations.js';
import type { Reply } from '../wire/replies.js';
import { isRetryable } from '../wire/zookeeper-error.js';

/**
 * A request that may be repeated, because it changes nothing, or changes nothing more the second time. It is one
 * operation, or a function that sends several in one session.
 */
export type Question<T, Asked> = Operation<T> | ((session: Asked) => Promise<T>);

/**
 * Resolves with the answer to the question. If an answer was lost, the whole question is asked again in the `next`
 * session. Resolves with undefined if there is no next session.
 *
 * @param first the session that is asked in this same call, if given
 * @throws ZooKeeperError if a server refuses the request
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
