import { JuteWriter } from '../../../../src/testing/jute.ts';
import { opcodes } from '../../../../src/testing/opcodes.ts';

export interface AclItem {
  readonly perms: number;
  readonly scheme: string | null;
  readonly id: string | null;
}

interface Create {
  readonly op: 'create' | 'create2' | 'createContainer' | 'createTTL';
  readonly path: string | null;
  readonly data: string | null;
  readonly acl: readonly AclItem[] | null;
  readonly flags: number;
  readonly ttl: number;
}

interface Versioned {
  readonly op: 'delete' | 'check';
  readonly path: string | null;
  readonly version: number;
}

interface SetData {
  readonly op: 'setData';
  readonly path: string | null;
  readonly data: string | null;
  readonly version: number;
}

interface Read {
  readonly op: 'exists' | 'getData' | 'getChildren' | 'getChildren2';
  readonly path: string | null;
  readonly watch: boolean;
}

interface Setting {
  readonly op: 'setACL';
  readonly path: string | null;
  readonly acl: readonly AclItem[] | null;
  readonly version: number;
}

interface OnPath {
  readonly op: 'getACL' | 'sync' | 'getEphemerals' | 'getAllChildrenNumber';
  readonly path: string | null;
}

interface Watching {
  readonly op: 'addWatch' | 'removeWatches' | 'checkWatches';
  readonly path: string | null;
  readonly type: number;
}

interface Rewatching {
  readonly op: 'setWatches' | 'setWatches2';
  /** Relative to the zxid at the start of the sequence. */
  readonly zxid: number;
  readonly lists: readonly (readonly (string | null)[] | null)[];
}

export type Item = Create | Versioned | SetData | Read;

interface Multi {
  readonly op: 'multi' | 'multiRead';
  readonly items: readonly Item[];
}

interface Bare {
  readonly op: 'ping' | 'whoAmI' | 'closeSession';
}

interface Auth {
  readonly op: 'auth';
  readonly scheme: string | null;
  readonly credentials: string | null;
}

/** Bytes in place of a record. */
interface Raw {
  readonly op: 'raw';
  readonly opcode: number;
  readonly bytes: string;
}

/** A valid request with some bytes missing at the end, or some bytes added. */
interface Bent {
  readonly op: 'bent';
  readonly request: Request;
  readonly cut: number;
  readonly added: string;
}

export type Request =
  Create | Versioned | SetData | Read | Setting | OnPath | Watching | Rewatching | Multi | Bare | Auth | Raw | Bent;

/** The header and the record, preceded by their length. */
export function encode(xid: number, request: Request, baseZxid: number): Buffer {
  if (request.op === 'bent') {
    const whole = encode(xid, request.request, baseZxid).subarray(4);
    const bent = Buffer.concat([
      whole.subarray(0, Math.max(8, whole.length - request.cut)),
      Buffer.from(request.added, 'hex'),
    ]);
    return Buffer.concat([new JuteWriter().bytes(bent).frame().subarray(4)]);
  }
  const opcode = request.op === 'raw' ? request.opcode : opcodes[request.op];
  const writer = new JuteWriter().int(request.op === 'ping' ? -2 : xid).int(opcode);
  const raw = request.op === 'raw' ? Buffer.from(request.bytes, 'hex') : undefined;
  if (request.op !== 'raw') writeRecord(writer, request, baseZxid);
  const frame = writer.frame();
  if (!raw) return frame;
  const body = Buffer.concat([frame.subarray(4), raw]);
  return new JuteWriter().bytes(body).frame().subarray(4);
}

function writeRecord(writer: JuteWriter, request: Exclude<Request, Raw | Bent>, baseZxid: number): void {
  switch (request.op) {
    case 'auth':
      writer.int(0).text(request.scheme).bytes(bytes(request.credentials));
      break;
    case 'multi':
    case 'multiRead':
      for (const item of request.items) {
        writer.int(opcodes[item.op]).flag(false).int(-1);
        writeItem(writer, item);
      }
      writer.int(-1).flag(true).int(-1);
      break;
    case 'setWatches':
    case 'setWatches2':
      writer.count(baseZxid + request.zxid);
      for (const list of request.lists.slice(0, request.op === 'setWatches' ? 3 : 5)) {
        if (list === null) writer.int(-1);
        else {
          writer.int(list.length);
          for (const path of list) writer.bytes(bytes(path));
        }
      }
      break;
    case 'setACL':
      writeAcl(writer.bytes(bytes(request.path)), request.acl);
      writer.int(request.version);
      break;
    case 'addWatch':
    case 'removeWatches':
    case 'checkWatches':
      writer.bytes(bytes(request.path)).int(request.type);
      break;
    case 'getACL':
    case 'sync':
    case 'getEphemerals':
    case 'getAllChildrenNumber':
      writer.bytes(bytes(request.path));
      break;
    case 'ping':
    case 'whoAmI':
    case 'closeSession':
      break;
    default:
      writeItem(writer, request);
  }
}

function writeItem(writer: JuteWriter, item: Item): void {
  writer.bytes(bytes(item.path));
  switch (item.op) {
    case 'create':
    case 'create2':
    case 'createContainer':
    case 'createTTL':
      writeAcl(writer.bytes(bytes(item.data)), item.acl);
      writer.int(item.flags);
      if (item.op === 'createTTL') writer.long(BigInt(item.ttl));
      break;
    case 'delete':
    case 'check':
      writer.int(item.version);
      break;
    case 'setData':
      writer.bytes(bytes(item.data)).int(item.version);
      break;
    default:
      writer.flag(item.watch);
  }
}

function writeAcl(writer: JuteWriter, acl: readonly AclItem[] | null): void {
  writer.int(acl?.length ?? -1);
  for (const { perms, scheme, id } of acl ?? []) writer.int(perms).text(scheme).text(id);
}

function bytes(text: string | null): Buffer | null {
  return text === null ? null : Buffer.from(text);
}
