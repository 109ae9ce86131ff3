import { twinOf } from '../lab/wire/twin-session.ts';
import type { Identity } from './messages.ts';

/** Ends a session on the servers from another connection, as a client with a stolen session password could. */
export async function closeSession(
  connectString: string,
  { id, password, lastZxid }: Identity,
  sessionTimeoutMs: number,
): Promise<void> {
  const identity = {
    id: Buffer.from(id, 'hex'),
    password: Buffer.from(password, 'hex'),
    lastZxid: BigInt(lastZxid),
  };
  await twinOf(connectString, identity, sessionTimeoutMs).close(5_000);
}
