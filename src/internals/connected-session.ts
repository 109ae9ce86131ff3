import type { LockClient } from '../client/lock-client.js';
import type { Session } from '../client/session.js';
import type { Patience } from './patience.js';

/** The client's session, as soon as it is connected. */
export async function connectedSession(client: LockClient, patience: Patience): Promise<Session> {
  patience.check();
  if (client.session.isConnected) return client.session;
  return patience.wait((wake) => client.onChange(() => client.session.isConnected && wake(client.session)));
}
