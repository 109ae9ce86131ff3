import { Reader, Writer } from '../../src/zookeeper/wire/wire.ts';
import type { Frame } from './zk-proxy.ts';

/** The answer to a list of children, with `count` more names in front of its own. */
export function longerList(answer: Frame, count: number, nameOf: (index: number) => string): Buffer {
  const own = new Reader(answer.body, headerBytes).texts();
  const list = new Writer().int(own.length + count);
  for (let index = 0; index < count; index += 1) list.text(nameOf(index));
  for (const name of own) list.text(name);
  const bytes = Buffer.concat([
    Buffer.alloc(lengthBytes),
    answer.body.subarray(0, headerBytes),
    list.frame().subarray(lengthBytes),
    answer.body.subarray(answer.body.length - statBytes),
  ]);
  bytes.writeInt32BE(bytes.length - lengthBytes, 0);
  return bytes;
}

const lengthBytes = 4;
const headerBytes = 16;
const statBytes = 68;
