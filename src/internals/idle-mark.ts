const mark = Buffer.from('\0idle');

/**
 * The data of a sticky lock's znode while nobody uses it: those of its holder, and a mark that no text has at its end
 * by chance.
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
