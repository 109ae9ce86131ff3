import { systemClock } from '../../src/support/clock.ts';
import { systemNetwork } from '../../src/zookeeper/network.ts';
import { parseConnectString } from '../../src/zookeeper/connect-string.ts';
import { Session } from '../../src/zookeeper/session.ts';

/** Attaches a second connection to a session, as a client with a stolen session password could. It tells nobody anything. */
export function twinOf(connectString: string, identity: Session['identity'], sessionTimeoutMs: number): Session {
  const { hosts } = parseConnectString(connectString);
  const ignore = (): undefined => undefined;
  return new Session(
    {
      hosts,
      chroot: '',
      auth: [],
      tickTimeMs: undefined,
      clock: systemClock,
      random: Math.random,
      network: systemNetwork,
      sessionTimeoutMs,
      connectBy: systemClock.now() + 5_000,
      resume: identity,
    },
    {
      connected: ignore,
      answered: ignore,
      suspended: ignore,
      overdue: ignore,
      unanswered: ignore,
      ended: ignore,
      settled: ignore,
      warn: ignore,
    },
  );
}
