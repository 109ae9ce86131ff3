import type { CancelTimer, Clock } from '../../support/clock.js';
import { inNoContext } from '../../support/no-context.js';
import { reached } from '../../support/reached.js';
import { divisors } from '../network/timeout-parts.js';
import type { Operation } from '../wire/operations.js';
import type { Call } from '../wire/replies.js';
import { errorName } from '../wire/zookeeper-error.js';

/** The requests of one connection that the server has not executed, for example because it is overloaded. */
export class PostponedRequests {
  readonly #options: PostponedOptions;
  readonly #pauses = new Map<Call, CancelTimer>();
  /** The syncs and changes among them, until they are answered. */
  readonly #awaited = new Set<Call>();
  /** The trouble of the server. Undefined if it puts no requests off now. */
  trouble: Postponement | undefined;

  constructor(options: PostponedOptions) {
    this.#options = options;
  }

  /** Sends the request again after a pause. `error`: the number in the answer. */
  add(call: Call, error: number): void {
    const { clock, random } = this.#options;
    const { kind, isAbsolute = false, isProof = false } = call.operation;
    // The requests of a heartbeat change nothing, and no read depends on them.
    const isOfHeartbeat = isAbsolute || isProof;
    if (isOfHeartbeat) reached('a heartbeat put off');
    if (kind !== 'read' && !isOfHeartbeat) this.#awaited.add(call);
    if (error !== 0) this.trouble ??= { since: clock.now(), error: errorName(error) };
    const heartbeatMs = this.#options.timeoutMs() / divisors.postponedHeartbeat;
    const longestMs = isOfHeartbeat ? Math.min(longestPauseMs, heartbeatMs) : longestPauseMs;
    const delayMs = pauseMs(call.timesPostponed, random(), longestMs);
    call.timesPostponed += 1;
    const send = (): void => {
      this.#pauses.delete(call);
      this.#options.send(call);
    };
    this.#pauses.set(
      call,
      inNoContext(() => clock.after(delayMs, send)),
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
    this.trouble = undefined;
    this.forget(call);
  }

  /** The request is not sent again, so no read waits for it, and the server puts it off no more. */
  forget(call: Call): void {
    this.#awaited.delete(call);
    if (this.#pauses.size === 0) this.trouble = undefined;
  }

  /** The requests that were not sent again yet. Reads still wait for them. */
  takeAll(): Call[] {
    const calls = [...this.#pauses.keys()];
    for (const cancel of this.#pauses.values()) cancel();
    this.#pauses.clear();
    return calls;
  }
}

/** The server puts requests off. */
export interface Postponement {
  /** Monotonic milliseconds. */
  readonly since: number;
  /** ZooKeeper's name of the error. */
  readonly error: string;
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

/** The pause after a number of tries, in milliseconds. */
export function pauseMs(tries: number, random: number, longestMs = longestPauseMs): number {
  return Math.min(longestMs, firstPauseMs * 2 ** tries) * (0.5 + random / 2);
}

const firstPauseMs = 50;
const longestPauseMs = 500;
