import type { PeerName } from './results.ts';

/** The promises in the documentation of a lock. */
export interface Promises {
  /** The order in which waiters are served. */
  readonly order: string;
  /** How the holder learns that it lost the lock. */
  readonly loss: string;
  /** The cost of a crash of servers. */
  readonly crash: string;
  /** A number that grows with each grant, so that storage can refuse an older holder. */
  readonly token: string;
}

export const promises: Readonly<Partial<Record<PeerName, Promises>>> = {
  ours: {
    order: 'first come, first served',
    loss: 'an event and an `AbortSignal`, before another client gets the lock',
    crash: 'nothing while a majority lives',
    token: 'yes',
  },
  curator: {
    order: 'first come, first served',
    loss: 'a state of the connection, if the program listens for it',
    crash: 'nothing while a majority lives',
    token: 'no, but the program can read the number of the znode',
  },
  'redlock always': {
    order: 'none: a waiter asks again after a random pause',
    loss: 'nothing: the program compares the expiry with its own clock',
    crash: 'nothing on one server; if a replica takes over, two clients may hold one lock',
    token: 'no',
  },
  'redlock everysec': {
    order: 'none: a waiter asks again after a random pause',
    loss: 'nothing: the program compares the expiry with its own clock',
    crash: 'the locks of the last second, so that two clients may hold one lock',
    token: 'no',
  },
  etcd3: {
    order: 'none: `acquire` does not wait, so the program asks again',
    loss: 'nothing: the lease of the lock is private, and its event with it',
    crash: 'nothing while a majority lives',
    token: 'no, but the program can read the revision of the key',
  },
};
