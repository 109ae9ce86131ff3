import type { ConnectionState, LockClient } from '../src/index.ts';

/** Resolves when a client reaches a state from now on. */
export function reached(client: LockClient, state: ConnectionState): Promise<void> {
  return new Promise((resolve) => {
    const look = (now: ConnectionState): void => {
      if (now !== state) return;
      client.off('state', look);
      resolve();
    };
    client.on('state', look);
  });
}
