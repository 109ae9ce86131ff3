/**
 * ZooKeeper's request types. Those that a server of version 3.8 does not know are answered with UNIMPLEMENTED, and the
 * connection is closed.
 */
export const opcodes = {
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  getACL: 6,
  setACL: 7,
  getChildren: 8,
  sync: 9,
  ping: 11,
  getChildren2: 12,
  check: 13,
  multi: 14,
  create2: 15,
  reconfig: 16,
  checkWatches: 17,
  removeWatches: 18,
  createContainer: 19,
  deleteContainer: 20,
  createTTL: 21,
  multiRead: 22,
  auth: 100,
  setWatches: 101,
  sasl: 102,
  getEphemerals: 103,
  getAllChildrenNumber: 104,
  setWatches2: 105,
  addWatch: 106,
  whoAmI: 107,
  closeSession: -11,
} as const satisfies Record<OpName, number>;

/** The kinds of requests. */
export type OpName =
  | 'create'
  | 'delete'
  | 'exists'
  | 'getData'
  | 'setData'
  | 'getACL'
  | 'setACL'
  | 'getChildren'
  | 'sync'
  | 'ping'
  | 'getChildren2'
  | 'check'
  | 'multi'
  | 'create2'
  | 'reconfig'
  | 'checkWatches'
  | 'removeWatches'
  | 'createContainer'
  | 'deleteContainer'
  | 'createTTL'
  | 'multiRead'
  | 'auth'
  | 'setWatches'
  | 'sasl'
  | 'getEphemerals'
  | 'getAllChildrenNumber'
  | 'setWatches2'
  | 'addWatch'
  | 'whoAmI'
  | 'closeSession';

const names = new Map<number, OpName>(Object.entries(opcodes).map(([name, number]) => [number, name as OpName]));

export function opName(opcode: number): OpName | undefined {
  return names.get(opcode);
}

/** The type in the header of a multi's item that has failed. */
export const errorType = -1;

/** The types of watch events. */
export const events = { created: 1, deleted: 2, dataChanged: 3, childrenChanged: 4 } as const;

export type EventType = (typeof events)[keyof typeof events];

/** The xids of frames that the server sends without a request, and of answers to pings. */
export const xids = { notification: -1, ping: -2 } as const;
