import type { LockClient } from '../client/lock-client.js';
import type { Session } from '../zookeeper/session.js';
import { ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import type { Deadline } from './deadline.js';
import { RequestFailedError } from './lock-errors.js';
import { connectedSession } from './reconnected.js';

/**
 * What `ask` comes to on the client's session; asked again on the next connection, of this session or the next, where an answer was lost. For questions that change nothing.
 *
 * @param refused what cannot be done, for the error where a server refuses
 * @throws RequestFailedError for what a server refuses
 */
export async function untilAnswered<T>(client: LockClient, deadline: Deadline, refused: string, ask: (session: Session) => Promise<T>): Promise<T> {
  for (;;) {
    const session = await connectedSession(client, deadline);
    try {
      return await ask(session);
    } catch (error) {
      if (!(error instanceof ZooKeeperError)) throw error;
      if (!error.isRetryable) throw new RequestFailedError(refused, error);
    }
  }
}
