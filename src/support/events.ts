import { EventEmitter } from 'node:events';
import { tellListener } from './no-context.js';
import { expectOneOf, expectFunction } from './validate.js';

/**
 * Listeners for several kinds of events. All events are emitted in the order in which they happened, outside of every
 * lock context: a listener must not act as the lock's owner. An error that a listener throws becomes a process warning,
 * and stops nothing.
 */
export class Events<Kinds extends object> {
  readonly #emitter = new EventEmitter();
  readonly #names: readonly string[];
  readonly #untold: (() => void)[] = [];

  constructor(...names: readonly (keyof Kinds & string)[]) {
    this.#names = names;
    this.#emitter.setMaxListeners(0);
  }

  /** @throws TypeError for an unknown event, or a listener that is not a function */
  listen<Name extends keyof Kinds & string>(
    how: 'on' | 'once' | 'off',
    name: Name,
    listener: (value: Kinds[Name]) => void,
  ): void {
    expectOneOf('event', name, this.#names);
    expectFunction('listener', listener);
    this.#emitter[how](name, listener);
  }

  /** True if the event has a listener. */
  isHeard(name: keyof Kinds & string): boolean {
    return this.#emitter.listenerCount(name) > 0;
  }

  /** A listener may cause the next event. Every listener gets both events in their order. */
  tell<Name extends keyof Kinds & string>(name: Name, value: Kinds[Name]): void {
    this.#untold.push(() => this.#tellAll(name, value));
    if (this.#untold.length > 1) return;
    for (let next = this.#untold[0]; next !== undefined; next = this.#untold[0]) {
      try {
        next();
      } finally {
        this.#untold.shift();
      }
    }
  }

  #tellAll(name: string, value: unknown): void {
    for (const listener of this.#emitter.rawListeners(name)) {
      tellListener(listener as (value: unknown) => unknown, value, () => `a listener of '${name}'${subjectOf(value)}`);
    }
  }
}

/**
 * An object with events. Its listeners are called outside of every lock context: a lock that one acquires is its own. An
 * error or a rejection of a listener is reported as a process warning, and stops nothing.
 */
export abstract class Emitter<Kinds extends object> {
  readonly #events: Events<Kinds>;

  /** For the classes of this library only: an application cannot extend it. */
  constructor(...library: never);
  /** @internal */
  constructor(events: Events<Kinds>);
  constructor(events: Events<Kinds>) {
    this.#events = events;
  }

  /**
   * Calls `listener` at every event from now on.
   *
   * @throws TypeError for an unknown event, or a listener that is not a function
   * @example
   * mutex.on('queued', ({ position, path }) => log.info(`${path} waits behind ${position}`));
   */
  on<Name extends keyof Kinds & string>(event: Name, listener: (value: Kinds[Name]) => void): this {
    this.#events.listen('on', event, listener);
    return this;
  }

  /** Like `on`, for the next event only. */
  once<Name extends keyof Kinds & string>(event: Name, listener: (value: Kinds[Name]) => void): this {
    this.#events.listen('once', event, listener);
    return this;
  }

  /** Removes a listener that `on` or `once` added; of several equal listeners the latest. */
  off<Name extends keyof Kinds & string>(event: Name, listener: (value: Kinds[Name]) => void): this {
    this.#events.listen('off', event, listener);
    return this;
  }
}

/** The path that an event is about, for a warning. */
function subjectOf(value: unknown): string {
  if (typeof value !== 'object' || value === null) return '';
  if ('path' in value) return ` for ${String(value.path)}`;
  return 'hold' in value ? subjectOf(value.hold) : '';
}
