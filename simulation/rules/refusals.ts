import { isZooKeeperError } from '../../src/zookeeper/wire/zookeeper-error.ts';
import type { Owner } from '../owner.ts';
import type { Bench } from './bench.ts';

/**
 * An acquire is refused for a reason only: its time is over, its client closes, a function around it has lost the lock, or
 * the servers have lost the shared count with all their data.
 */
export class Refusals {
  readonly #bench: Pick<Bench, 'tell'>;
  #isWiped = false;

  constructor(bench: Pick<Bench, 'tell'>) {
    this.#bench = bench;
  }

  wiped(): void {
    this.#isWiped = true;
  }

  /** Returns a function to call with the error that the acquire rejects with. */
  begin(owner: Owner): (error: unknown) => void {
    const { process } = owner.client;
    const from = process.now;
    return (error) => {
      const why = whyNot(owner, error as Refusal, process.now - from);
      const isForgiven = this.#isWiped && isOfLostCount(error as Refusal);
      if (why !== undefined && !isForgiven) this.#bench.tell('refusal', `${owner.id} at ${owner.lock.path} ${why}`);
    };
  }
}

function whyNot({ call, library }: Owner, error: Refusal, tookMs: number): string | undefined {
  const { how, timeoutMs = Infinity } = call;
  switch (error.code) {
    case 'ERR_LOCK_TIMEOUT':
      return tookMs < timeoutMs - toleranceMs ? `gave up after ${tookMs} ms of ${timeoutMs} ms` : undefined;
    case 'ERR_LOCK_CLIENT_CLOSED':
      return library.host.isClosing ? undefined : 'was refused because its client closes, which does not';
    case 'ERR_LOCK_LOST':
      return holdsNothing.has(how) ? 'was refused because of a loss, and has held nothing' : undefined;
    case 'ERR_LOCK_REQUEST_FAILED':
      return `failed: ${error.message}`;
    default:
      return undefined;
  }
}

/** Until the application has written the count again, its znode is missing. */
function isOfLostCount({ message, cause }: Refusal): boolean {
  return message?.startsWith('The shared count ') === true && isZooKeeperError(cause, 'NO_NODE');
}

interface Refusal {
  readonly code?: unknown;
  readonly message?: string;
  readonly cause?: unknown;
}

/** The calls whose owner holds nothing before them. */
const holdsNothing: ReadonlySet<string> = new Set(['plain', 'try', 'handler', 'many', 'multi', 'job']);

/** The clock of a process has fractions of a millisecond. */
const toleranceMs = 1;
