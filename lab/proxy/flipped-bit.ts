import type { Frame } from './zk-proxy.ts';

/** The frame with another value of one bit, with its length in front. `bit` is counted from the lowest one. */
export function withFlippedBit({ body }: Frame, at: number, bit: number): Buffer {
  const bytes = Buffer.alloc(lengthBytes + body.length);
  bytes.writeInt32BE(body.length);
  body.copy(bytes, lengthBytes);
  bytes.writeUInt8(bytes.readUInt8(lengthBytes + at) ^ (1 << bit), lengthBytes + at);
  return bytes;
}

const lengthBytes = 4;
