import type { Request } from './crowd.ts';

/** A number of clients, and what each of them does. */
export interface Level {
  readonly name: string;
  readonly clients: number;
  readonly processes: number;
  /** No lock: the clients are idle. */
  readonly locks: number;
  /** The holder included. */
  readonly requestsOfLock: number;
}

export function levels(processes: readonly number[], { clients, locks, requestsOfLock }: Size): Level[] {
  return processes.flatMap((count) => {
    const level = (name: string, of: Partial<Level>): Level => ({
      name,
      clients,
      processes: count,
      locks: 0,
      requestsOfLock: 0,
      ...of,
    });
    return [
      level('idle', { clients: 10 }),
      level('idle', {}),
      level('each holds a lock of its own', { locks: clients, requestsOfLock: 1 }),
      level('all want one lock', { locks: 1, requestsOfLock: clients }),
      level('many locks, all held', { locks, requestsOfLock: 1 }),
      level('many locks, each with a queue', { locks, requestsOfLock }),
    ];
  });
}

export interface Size {
  readonly clients: number;
  readonly locks: number;
  readonly requestsOfLock: number;
}

/** The requests of one lock are those of different clients. Each client has equally many requests. */
export function requestsOf({ locks, requestsOfLock, clients }: Level): Request[] {
  const step = Math.max(1, Math.floor(clients / requestsOfLock));
  return Array.from({ length: locks * requestsOfLock }, (_, index) => {
    const place = Math.floor(index / locks);
    const lock = index % locks;
    return { client: (lock + place * step) % clients, path: `/scale/locks-${lock % 100}/lock-${lock}` };
  });
}
