import { AsyncResource } from 'node:async_hooks';
import { inspect } from 'node:util';

/**
 * Runs the library's own work in no async context at all: no lock context, and no AsyncLocalStorage store of the
 * application. Timers, sockets and promise chains that `run`
 * starts inherit that. Without it a timer that is armed in one request's `acquire()` would carry that request's stores
 * from heartbeat to heartbeat, for as long as the client lives.
 */
export function inNoContext<Args extends unknown[], T>(run: (...args: Args) => T, ...args: Args): T {
  return ours.runInAsyncScope(run, undefined, ...args);
}

/**
 * Calls application code (a listener, a logger, a policy, a driver) in no async context at all: it must not act as the
 * owner of a lock only because of where the library
 * happened to be. On Node each call has a resource of its own, because on Node 20 `AsyncLocalStorage.enterWith` marks
 * the resource for good.
 */
export function callApplication<Args extends unknown[], T>(call: (...args: Args) => T, ...args: Args): T {
  return (hidesStores ? ours : emptyResource()).runInAsyncScope(call, undefined, ...args);
}

/**
 * As `callApplication`, for an answer that is needed now: a promise in its place is the caller's to refuse, and its
 * rejection is nobody's.
 */
export function askApplication<Args extends unknown[], T>(call: (...args: Args) => T, ...args: Args): T {
  const answer = callApplication(call, ...args);
  whenRejected(answer, () => undefined);
  return answer;
}

/**
 * As `callApplication`, for what needs no answer: what it throws, or rejects with, is a process warning, and stops
 * nothing.
 */
export function tellApplication<Args extends unknown[]>(call: (...args: Args) => unknown, ...args: Args): void {
  try {
    whenRejected(callApplication(call, ...args), warnOf);
  } catch (error) {
    warnOf(error);
  }
}

/** What application code has thrown, which may be anything, as a process warning. */
export function warnOf(thrown: unknown): void {
  callApplication(() => {
    try {
      process.emitWarning(thrown instanceof Error ? thrown : typeof thrown === 'string' ? thrown : inspect(thrown));
    } catch {
      process.emitWarning('A function of the application has thrown something that cannot be shown');
    }
  });
}

/** Promises of other realms, and of libraries, are no instances of Promise. */
function whenRejected(answer: unknown, rejected: (error: unknown) => void): void {
  if (typeof answer !== 'object' || answer === null || !('then' in answer)) return;
  void callApplication(() => Promise.resolve(answer as PromiseLike<unknown>).then(undefined, rejected));
}

/** Aborts a signal that the application listens to. */
export function abort(aborter: AbortController, reason: unknown): void {
  callApplication(() => aborter.abort(reason));
}

/**
 * A resource without the stores of the code that creates it. Node has no public way to say so:
 * `AsyncLocalStorage.snapshot()` and a new AsyncResource both copy what is current,
 * which is a request's stores where the module is imported inside of a request. So the copies are taken out again: Node
 * 20 and 22 keep one property for each storage,
 * Node 24 keeps one frame.
 */
function emptyResource(): AsyncResource {
  const resource = new AsyncResource('zookeeper-fair-lock', { requireManualDestroy: true });
  for (const key of Object.getOwnPropertySymbols(resource)) {
    if (key.description === 'kResourceStore') Reflect.deleteProperty(resource, key);
    else if (key.description === 'context_frame') Reflect.set(resource, key, undefined);
  }
  return resource;
}

/**
 * Bun and Deno keep the stores of a resource where nothing can take them out, and `enterWith` does not mark a resource
 * there: a resource that was created without stores stays
 * without them. `ours` is one where the module is loaded outside of every store.
 */
const hidesStores = 'bun' in process.versions || 'deno' in process.versions;

const ours = emptyResource();
