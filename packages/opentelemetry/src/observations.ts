import type { BatchObservableCallback, Meter, Observable } from '@opentelemetry/api';

/**
 * Calls `observe` at each collection. Returns a function that ends this after one more collection, in which `observe`
 * gives the last values. A provider that goes on repeats those forever.
 */
export function observeUntilEnd(meter: Meter, instruments: Observable[], observe: BatchObservableCallback): () => void {
  let isEnding = false;
  const observeOnce: BatchObservableCallback = (result) => {
    void observe(result);
    // Not at once, because the SDK is reading its list of callbacks.
    if (isEnding) queueMicrotask(() => meter.removeBatchObservableCallback(observeOnce, instruments));
  };
  meter.addBatchObservableCallback(observeOnce, instruments);
  return () => (isEnding = true);
}
