import { Random } from '../../../lab/random.ts';
import { Ensemble, type EnsembleOptions } from '../../../lab/ensemble/ensemble.ts';
import { ManualClock } from '../../../lab/manual-clock.ts';
import { MemberClient } from './member-client.ts';

export const tickMs = 2_000;
/** The time after which a member that is cut off must have noticed. */
export const noticedMs = 7 * tickMs;
export const sessionMs = 4_000;

/** An ensemble on a clock of its own, and its clients. */
export class Fixture {
  readonly clock: ManualClock;
  readonly ensemble: Ensemble;

  constructor(options: Partial<EnsembleOptions> = {}, seed = 1, startMs = 0) {
    this.clock = new ManualClock(startMs);
    const random = new Random(seed, 0);
    this.ensemble = new Ensemble({
      clock: this.clock,
      random: () => random.next(),
      members: 3,
      tickTimeMs: tickMs,
      ...options,
    });
  }

  /** Time for the answers of a few requests. */
  settle(): void {
    this.clock.advance(100);
  }

  /** A connection to this member. */
  dial(member: number): MemberClient {
    return new MemberClient(this.ensemble, member);
  }

  /** A new session at this member. */
  open(member: number, timeoutMs = sessionMs): MemberClient {
    const client = this.dial(member).connect(timeoutMs);
    this.settle();
    return client;
  }

  /** The client's session on a new connection. */
  resume(client: MemberClient, member: number, timeoutMs = sessionMs): MemberClient {
    const resumed = this.dial(member).connect(timeoutMs, client.ticket);
    this.settle();
    return resumed;
  }

  /** Time passes, and the clients send pings. */
  idle(ms: number, ...clients: readonly MemberClient[]): void {
    for (let left = ms; left > 0; left -= 500) {
      for (const client of clients) if (client.isOpen) client.ping();
      this.clock.advance(Math.min(500, left));
    }
  }

  /** Time until there is a leader that is not `old`. */
  elected(old?: number): number {
    for (let left = 100; left > 0; left -= 1) {
      const { leader } = this.ensemble;
      if (leader !== undefined && leader !== old) return leader;
      this.clock.advance(100);
    }
    throw new Error('No leader was elected within ten seconds');
  }
}
