import { AsyncResource } from 'node:async_hooks';
import { inspect } from 'node:util';
import { errorText, isError } from './error-text.js';

/**
 * Runs the library's own work in no async context: no lock context, and no AsyncLocalStorage store of the application.
 * Timers, sockets and promise chains that `run` starts inherit that. Otherwise, a timer that is started in one
 * request's `acquire()` would carry that request's stores from heartbeat to heartbeat, as long as the client lives.
 */
export function inNoContext<Args extends unknown[], T>(run: (...args: Args) => T, ...args: Args): T {
  return ours.runInAsyncScope(run, undefined, ...args);
}

/**
 * Calls application code (a listener, a logger, a policy, a driver) in no async context, because that code must not act
 * as the owner of a lock only because the library called it in that owner's context. On Node each call gets its own
 * resource, because on Node 20 `AsyncLocalStorage.enterWith` marks the resource permanently.
 */
export function callApplication<Args extends unknown[], T>(call: (...args: Args) => T, ...args: Args): T {
  return (hidesStores ? ours : emptyResource()).runInAsyncScope(call, undefined, ...args);
}

/**
 * As `callApplication`, for a result that is needed at once. If the result is a promise, the caller must refuse it, and
 * its rejection is ignored.
 */
export function askApplication<Args extends unknown[], T>(call: (...args: Args) => T, ...args: Args): T {
  const answer = callApplication(call, ...args);
  whenRejected(answer, () => undefined);
  return answer;
}

/**
 * As `callApplication`, for a call whose result is not needed. An error that it throws or rejects with becomes a
 * process warning, and stops nothing.
 */
export function tellApplication<Args extends unknown[]>(call: (...args: Args) => unknown, ...args: Args): void {
  tell(() => callApplication(call, ...args), warnOf);
}

/** As `tellApplication`, for a listener. The warning names the listener with the text of `who`. */
export function tellListener<T>(listener: (value: T) => unknown, value: T, who: () => string): void {
  tell(
    () => callApplication(listener, value),
    (error) => warnOfListener(error, who()),
  );
}

function tell(call: () => unknown, failed: (error: unknown) => void): void {
  try {
    whenRejected(call(), failed);
  } catch (error) {
    failed(error);
  }
}

/** Emits a process warning for a value that application code has thrown. The value may be anything. */
export function warnOf(thrown: unknown): void {
  emitWarning(() => (isError(thrown) ? thrown : typeof thrown === 'string' ? thrown : inspect(thrown)));
}

/**
 * As `warnOf`, for a listener. The warning names the library and the listener, because the application's error says
 * neither. Node.js prints `detail` below the message: the stack shows the place in the application.
 */
export function warnOfListener(thrown: unknown, who: string): void {
  emitWarning(() => {
    const warning = new Error(`zookeeper-fair-lock: ${who} failed: ${errorText(thrown)}`, { cause: thrown });
    return Object.assign(warning, { name: 'Warning', detail: isError(thrown) ? thrown.stack : undefined });
  });
}

function emitWarning(warning: () => Error | string): void {
  callApplication(() => {
    try {
      emit(warning());
    } catch {
      process.emitWarning('A function of the application has thrown a value that cannot be shown');
    }
  });
}

/** Node.js takes no error of another realm as a warning. Under Jest, the errors of this file are such errors, too. */
function emit(warning: Error | string): void {
  try {
    process.emitWarning(warning);
  } catch (refusal) {
    if (typeof warning === 'string') throw refusal;
    const { name, message, detail = inspect(warning) }: { name: unknown; message: unknown; detail?: string } = warning;
    process.emitWarning(String(message), { type: String(name), detail });
  }
}

function whenRejected(answer: unknown, rejected: (error: unknown) => void): void {
  if (isPromise(answer)) void callApplication(() => Promise.resolve(answer).then(undefined, rejected));
}

/** Promises of other realms, and of libraries, are not instances of Promise. */
export function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value;
}

/** Aborts a signal that the application listens to. */
export function abort(aborter: AbortController, reason: unknown): void {
  callApplication(() => aborter.abort(reason));
}

/** `jest --detectOpenHandles` says of each resource without `hasRef` that it keeps the process alive. */
class Resource extends AsyncResource {
  hasRef(): boolean {
    return false;
  }
}

/**
 * Creates a resource without the stores of the code that creates it. Node has no public way to do that:
 * `AsyncLocalStorage.snapshot()` and a new AsyncResource both copy the current stores, which are a request's stores if
 * the module is imported inside a request. So the copies are removed again: Node 20 and 22 keep one property for each
 * storage, Node 24 keeps one frame.
 */
function emptyResource(): AsyncResource {
  const resource = new Resource('zookeeper-fair-lock', { requireManualDestroy: true });
  for (const key of Object.getOwnPropertySymbols(resource)) {
    if (key.description === 'kResourceStore') Reflect.deleteProperty(resource, key);
    else if (key.description === 'context_frame') Reflect.set(resource, key, undefined);
  }
  return resource;
}

/**
 * Bun and Deno keep the stores of a resource where they cannot be removed. But there `enterWith` does not mark a
 * resource, so a resource that was created without stores stays without them. `ours` is such a resource if the module
 * is loaded outside of every store.
 */
const hidesStores = 'bun' in process.versions || 'deno' in process.versions;

const ours = emptyResource();
