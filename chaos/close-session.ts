import { systemClock } from '../src/support/clock.ts';
import { parseConnectString } from '../src/zookeeper/connect-string.ts';
import { Session } from '../src/zookeeper/session.ts';
import type { Identity } from './messages.ts';

/** Ends a session on the servers from another connection, as a client with a stolen session password could. */
export async function closeSession(
  connectString: string,
  { id, password, lastZxid }: Identity,
  sessionTimeoutMs: number,
): Promise<void> {
  const { hosts } = parseConnectString(connectString);
  const ignore = (): undefined => undefined;
  const twin = new Session(
    {
      hosts,
      chroot: '',
      auth: [],
      tickTimeMs: undefined,
      clock: systemClock,
      random: Math.random,
      sessionTimeoutMs,
      connectBy: systemClock.now() + 5_000,
      resume: { id: Buffer.from(id, 'hex'), password: Buffer.from(password, 'hex'), lastZxid: BigInt(lastZxid) },
    },
    {
      connected: ignore,
      suspended: ignore,
      overdue: ignore,
      unanswered: ignore,
      ended: ignore,
      settled: ignore,
      warn: ignore,
    },
  );
  await twin.close(5_000);
}
