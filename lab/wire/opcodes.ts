/** The numbers of ZooKeeper's requests. */
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
} as const;

export type OpName = keyof typeof opcodes;

/** The xids of the frames that answer no numbered request. */
export const xids = { event: -1, ping: -2 } as const;

/** The numbers of the errors that tests expect. */
export const errors = {
  MARSHALLING_ERROR: -5,
  UNIMPLEMENTED: -6,
  NO_NODE: -101,
  NO_AUTH: -102,
  BAD_VERSION: -103,
  NO_CHILDREN_FOR_EPHEMERALS: -108,
  NODE_EXISTS: -110,
  NOT_EMPTY: -111,
  SESSION_EXPIRED: -112,
  INVALID_ACL: -114,
  AUTH_FAILED: -115,
  SESSION_MOVED: -118,
} as const;

/** `ok` for 0. */
export function errorName(number: number): string {
  if (number === 0) return 'ok';
  return Object.entries(errors).find(([, each]) => each === number)?.[0] ?? `error ${number}`;
}
