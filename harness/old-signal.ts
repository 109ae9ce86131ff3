/** A signal as a polyfill makes it: no instance of AbortSignal, with no reason, no `throwIfAborted`, and no `once`. */
export class OldSignal {
  aborted = false;
  readonly listeners = new Set<() => void>();
  /** Called when somebody subscribes, which may fail, or come too late. */
  onListen: () => void = () => undefined;

  addEventListener(_type: string, listener: () => void): void {
    this.onListen();
    this.listeners.add(listener);
  }

  removeEventListener(_type: string, listener: () => void): void {
    this.listeners.delete(listener);
  }

  abort(): void {
    this.aborted = true;
    for (const listener of this.listeners) listener();
  }

  /** As the options take it. */
  get signal(): AbortSignal {
    return this as unknown as AbortSignal;
  }
}
