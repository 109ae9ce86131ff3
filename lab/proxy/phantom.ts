import { RecordReader, RecordWriter } from '../wire/record.ts';
import type { Frame, ZkProxy } from './zk-proxy.ts';

/**
 * From now on this proxy's server still shows a znode that is deleted, as a follower does that has lost a transaction. A
 * client must have read the znode's data through the proxy. Returns a function that ends it.
 */
export function showPhantom(proxy: ZkProxy, path: string): () => void {
  const slash = path.lastIndexOf('/');
  const read = proxy.frames.findLast(
    (frame) => frame.from === 'server' && frame.op === 'getData' && frame.path === path,
  );
  if (read === undefined) throw new Error(`Nobody has read ${path} through this proxy`);
  const data = read.body.subarray(headerBytes);
  const stat = data.subarray(data.length - statBytes);
  return proxy.on((frame) => {
    if (frame.from !== 'server') return undefined;
    if (frame.op === 'watch') return frame.path === path ? 'drop' : undefined;
    if (frame.op === 'getData' && frame.path === path && frame.err !== 0) return answer(frame, data);
    if (frame.op === 'exists' && frame.path === path && frame.err !== 0) return answer(frame, stat);
    if (frame.op !== 'getChildren2' || frame.path !== path.slice(0, slash) || frame.err !== 0) return undefined;
    const names = new RecordReader(frame.body, headerBytes).texts() ?? [];
    if (names.includes(path.slice(slash + 1))) return undefined;
    const list = new RecordWriter();
    list.vector([...names, path.slice(slash + 1)], (name) => list.bytes(name));
    return answer(frame, Buffer.concat([list.body(), frame.body.subarray(frame.body.length - statBytes)]));
  });
}

function answer({ body }: Frame, record: Uint8Array): { readonly replaceWith: Buffer } {
  return { replaceWith: new RecordWriter().raw(body.subarray(0, errorAt)).int(0).raw(record).frame() };
}

const errorAt = 12;
const headerBytes = 16;
const statBytes = 68;
