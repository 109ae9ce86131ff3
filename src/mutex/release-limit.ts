import type { LockHost } from '../client/lock-host.js';
import type { ReleaseOutcome } from '../internals/grant.js';
import type { Clock } from '../support/clock.js';
import { LineLimit } from './line-limit.js';
import { inNoContext } from '../support/no-context.js';

/**
 * Settles as `release` does, but after `timeoutMs` at the latest, then with what `late` returns. The release itself goes
 * on: only the wait for the servers is limited.
 */
export function settleWithin(
  timeoutMs: number | undefined,
  clock: Clock,
  release: Promise<ReleaseOutcome>,
  late: () => ReleaseOutcome,
): Promise<ReleaseOutcome> {
  if (timeoutMs === undefined) return release;
  // The release may take as long as an outage. It must not keep the caller's context alive.
  return inNoContext(
    () =>
      new Promise((resolve, reject) => {
        const cancel = clock.after(timeoutMs, () => resolve(late()));
        release.finally(cancel).then(resolve, reject);
      }),
  );
}

/** Tells the logger of releases that took longer than their `releaseTimeoutMs`. */
export class LateReleases {
  readonly #host: LockHost;
  /** A limit, because a service releases many locks during an outage. */
  readonly #lines = new LineLimit(10, 60_000);

  constructor(host: LockHost) {
    this.#host = host;
  }

  /** @param path the znode that is not deleted yet */
  tell(path: string, releaseTimeoutMs: number): void {
    const { clock, report } = this.#host;
    // Such a caller never waits.
    if (releaseTimeoutMs === 0 || !this.#lines.mayWrite(clock.now())) return;
    report.warn(
      `The servers have not confirmed within ${releaseTimeoutMs} ms that ${report.onServers(path)} is released. The call has settled, and the release goes on in the background`,
      undefined,
    );
  }
}
