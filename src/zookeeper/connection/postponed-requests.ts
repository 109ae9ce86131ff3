import type { CancelTimer, Clock } from '../../support/clock.js';
import { inNoContext } from '../../support/no-context.js';
import { reached } from '../../support/reached.js';
import { divisors } from '../network/timeout-parts.js';
import type { Operation } from '../wire/operations.js';
import type { Call } from '../wire/replies.js';

/** The requests of one connection that an overloaded server has not executed, and wants again later. */
export class PostponedRequests {
  readonly #options: PostponedOptions;
  readonly #pauses = new Map<Call, CancelTimer>();
  /** The syncs and changes among them, until they are answered. */
  readonly #awaited = new Set<Call>();
  /** The time since which the server has put requests off. Undefined if it puts none off now. */
  since: number | undefined;

  constructor(options: PostponedOptions) {
    this.#options = options;
  }

  /** Sends the request again after a pause. */
  add(call: Call): void {
    const { clock, random } = this.#options;
    const { kind, isAbsolute = false, isProof = false } = call.operation;
    // The requests of a heartbeat change nothing, and no read depends on them.
    const isOfHeartbeat = isAbsolute || isProof;
    if (isOfHeartbeat) reached('a heartbeat put off');
    if (kind !== 'read' && !isOfHeartbeat) this.#awaited.add(call);
    this.since ??= clock.now();
    const heartbeatMs = this.#options.timeoutMs() / divisors.postponedHeartbeat;
    const longestMs = isOfHeartbeat ? Math.min(longestPauseMs, heartbeatMs) : longestPauseMs;
    const pauseMs = Math.min(longestMs, firstPauseMs * 2 ** call.timesPostponed) * (0.5 + random() / 2);
    call.timesPostponed += 1;
    const send = (): void => {
      this.#pauses.delete(call);
      this.#options.send(call);
    };
    this.#pauses.set(
      call,
      inNoContext(() => clock.after(pauseMs, send)),
    );
  }

  /**
   * True for a read behind a sync or a change that was put off: the server shows older data than its caller expects, for
   * example the znode of a holder that has handed its lock over.
   */
  isTooEarly({ operation: read, firstXid = Infinity }: Call): boolean {
    // The sync of a heartbeat is absolute. It depends on no other sync, and a proof must not wait.
    if (this.#awaited.size === 0 || read.isAbsolute || !isRepeatable(read)) return false;
    const isEarly = [...this.#awaited].some(
      ({ operation: { path }, firstXid: earlier = Infinity }) =>
        earlier < firstXid && (isWithin(read.path, path) || isWithin(path, read.path)),
    );
    if (isEarly) reached('a read that overtook a sync or a change repeated');
    return isEarly;
  }

  /** The server has executed or refused the request. */
  answered(call: Call): void {
    if (call.timesPostponed === 0) return;
    this.since = undefined;
    this.forget(call);
  }

  /** The request is not sent again, so no read waits for it, and the server puts it off no more. */
  forget(call: Call): void {
    this.#awaited.delete(call);
    if (this.#pauses.size === 0) this.since = undefined;
  }

  /** The requests that were not sent again yet. Reads still wait for them. */
  takeAll(): Call[] {
    const calls = [...this.#pauses.keys()];
    for (const cancel of this.#pauses.values()) cancel();
    this.#pauses.clear();
    return calls;
  }
}

interface PostponedOptions {
  readonly clock: Clock;
  readonly random: () => number;
  timeoutMs(): number;
  send(call: Call): void;
}

/** True for a request that changes nothing, and whose watch is in the SetWatches of the next connection. */
export function isRepeatable({ name }: Operation<unknown>): boolean {
  return repeatable.has(name);
}

const repeatable: ReadonlySet<string> = new Set(['exists', 'getData', 'getChildren2', 'sync']);

function isWithin(path: string, root: string): boolean {
  return root === '/' || path === root || path.startsWith(`${root}/`);
}

const firstPauseMs = 50;
const longestPauseMs = 500;
