import type { LockHost } from '../../client/lock-host.js';
import { callSite } from '../../support/call-site.js';
import type { Deadline } from '../../support/deadline.js';
import { inNoContext } from '../../support/no-context.js';
import type { Hold } from '../hold.js';

/** The places where the application acquired its locks, for the warnings of a client with `debug`. */
export class CallPlaces {
  readonly #places = new WeakMap<Deadline | Hold, string>();
  readonly #handles = new WeakMap<Hold, WeakRef<Hold>>();
  readonly #leaks: FinalizationRegistry<Hold>;

  constructor({ report }: LockHost) {
    this.#leaks = new FinalizationRegistry((hold) =>
      inNoContext(() => {
        if (hold.isOpen) report.warn(this.#leakOf(hold), undefined);
      }),
    );
  }

  /** Must be called in the same step as the application's call. */
  begun(deadline: Deadline): void {
    this.#places.set(deadline, callSite());
  }

  /**
   * From now on the application has a proxy of the hold, so that the application's garbage becomes visible: the library
   * itself keeps every hold until it ends. When the proxy is collected before a release, a warning says where the hold
   * was acquired.
   */
  acquired(hold: Hold, deadline: Deadline): void {
    this.#places.set(hold, this.placeOf(deadline));
    if (hold.isOfJob) return;
    const handle = new Proxy(hold, throughTo);
    this.#handles.set(hold, new WeakRef(handle));
    this.#leaks.register(handle, hold);
  }

  /** The place where an acquire was called, or the acquire of a hold. */
  placeOf(acquire: Deadline | Hold): string {
    return this.#places.get(acquire) ?? 'an unknown place';
  }

  /** The proxy that the application has of the hold; undefined if it has the hold itself. */
  handleOf(hold: Hold): Hold | undefined {
    return this.#handles.get(hold)?.deref();
  }

  #leakOf(hold: Hold): string {
    return (
      `A hold of the lock ${hold.keeper.lock.path} was garbage-collected without a release: its release() cannot be called any more, and the lock stays held until mutex.release() is called, its lease ends, or the ` +
      `client is closed. It was acquired at ${this.placeOf(hold)}`
    );
  }
}

/** Private fields belong to the hold, so its methods and getters must not be called on the proxy. */
const throughTo: ProxyHandler<Hold> = {
  get(hold, property) {
    const value: unknown = Reflect.get(hold, property, hold);
    return typeof value === 'function' && property !== 'constructor' ? (value as () => unknown).bind(hold) : value;
  },
};
