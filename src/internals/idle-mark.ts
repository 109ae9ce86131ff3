const mark = Buffer.from('\0idle');

/**
 * The data of a sticky lock's znode while the lock is idle: the holder's data, followed by a mark. No text ends with
 * this mark by chance.
 */
export function markIdle(data: Uint8Array): Buffer {
  return Buffer.concat([data, mark]);
}

export function isMarkedIdle(data: Buffer): boolean {
  return data.subarray(-mark.length).equals(mark);
}

export function withoutMark(data: Buffer): Buffer {
  return isMarkedIdle(data) ? data.subarray(0, -mark.length) : data;
}
