/** The points that no plan of the gate comes by, and why. Tests reach most of them one by one. */
export const unreached: ReadonlyMap<string, string> = new Map([
  [
    'create: the znode belongs to another session',
    'each znode has a name of its own, so only another program causes it',
  ],
  ['granted after the deadline', 'a timer or an abort must run between two microtasks'],
  ['a list from a server that lags behind the create', 'a client refuses each server that is behind its last answer'],
  ['transaction: refused for an error of the session', 'the simulated servers end the connection instead'],
  ['ghost: no server can know it any more', 'the servers must refuse a ghost for longer than its session lasts'],
  ['a session lost while its client closes', 'a close must wait for an answer until the deadline has passed'],
  [
    'a change that the server could not carry out',
    'only ClickHouse Keeper answers so, and the simulated servers are ZooKeeper',
  ],
  ['semaphore: leases stood still', 'no plan has a participant of another program'],
]);
