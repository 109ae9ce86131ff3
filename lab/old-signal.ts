/** A signal as a polyfill creates it: no instance of AbortSignal, without a reason, `throwIfAborted` and `once`. */
export class OldSignal {
  aborted = false;
  readonly listeners = new Set<() => void>();
  /** Called when a listener is added. A test lets it throw, or abort the signal. */
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

  /** The signal with the type of the options. */
  get signal(): AbortSignal {
    return this as unknown as AbortSignal;
  }
}
