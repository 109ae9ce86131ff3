import { inNoContext } from '../support/no-context.js';
import type { Hold } from './hold.js';

/**
 * Returns a proxy of the hold for the application, so that the application's garbage becomes visible: the library
 * itself keeps every hold until it ends. When the proxy is collected before a release, a warning says where the hold
 * was acquired. For clients with `debug`.
 */
export function watchForLeak(hold: Hold): Hold {
  const handle = new Proxy(hold, throughTo);
  hold.handOut(handle);
  leaks.register(handle, hold);
  return handle;
}

/** Private fields belong to the hold, so its methods and getters must not be called on the proxy. */
const throughTo: ProxyHandler<Hold> = {
  get(hold, property) {
    const value: unknown = Reflect.get(hold, property, hold);
    return typeof value === 'function' && property !== 'constructor' ? (value as () => unknown).bind(hold) : value;
  },
};

const leaks = new FinalizationRegistry<Hold>((hold) => inNoContext(warnOfLeak, hold));

function warnOfLeak(hold: Hold): void {
  if (!hold.isOpen) return;
  const { host, path } = hold.keeper.lock;
  host.report.warn(
    `A hold of the lock ${path} was garbage-collected without a release: its release() cannot be called any more, and the lock stays held until mutex.release() is called, its lease ends, or the ` +
      `client is closed. It was acquired at ${hold.calledAt ?? 'an unknown place'}`,
    undefined,
  );
}
