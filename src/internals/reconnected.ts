import type { LockClient } from '../client/lock-client.js';
import type { Session } from '../zookeeper/session.js';
import type { Deadline } from './deadline.js';

/** Waits for the next connection of this session; false when the session has ended instead. */
export async function reconnected(session: Session, deadline: Deadline): Promise<boolean> {
  deadline.check();
  if (session.isConnected) return true;
  if (session.isEnded) return false;
  return deadline.wait((wake) =>
    session.onChange(() => {
      if (session.isConnected || session.isEnded) wake(session.isConnected);
    }),
  );
}

/** The client's session, as soon as it is connected: this one or a later one. */
export async function connectedSession(client: LockClient, deadline: Deadline): Promise<Session> {
  deadline.check();
  if (client.session.isConnected) return client.session;
  return deadline.wait((wake) => client.onChange(() => client.session.isConnected && wake(client.session)));
}

/** As `reconnected`, for who must not give up: what is cleaned up in the background has no deadline that ends. */
export function connectedOrEnded(session: Session): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (!session.isConnected && !session.isEnded) return;
      stop();
      resolve();
    };
    const stop = session.onChange(look);
    look();
  });
}
