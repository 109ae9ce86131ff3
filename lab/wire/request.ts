import { noTicket } from './answer.ts';
import { opcodes, xids } from './opcodes.ts';
import { RecordWriter } from './record.ts';

export interface AclItem {
  readonly permissions: number;
  readonly scheme: string | null;
  readonly id: string | null;
}

export const openAcl: readonly AclItem[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }];

// Null is a value of its own on the wire. A field that is left out has the value of a usual request.

export interface Create {
  readonly op: 'create' | 'create2' | 'createContainer' | 'createTTL';
  readonly path: string | null;
  readonly data?: string | Uint8Array | null;
  readonly acl?: readonly AclItem[] | null;
  readonly flags?: number;
  readonly ttl?: number;
}

interface Versioned {
  readonly op: 'delete' | 'check';
  readonly path: string | null;
  readonly version?: number;
}

interface SetData {
  readonly op: 'setData';
  readonly path: string | null;
  readonly data: string | Uint8Array | null;
  readonly version?: number;
}

interface Read {
  readonly op: 'exists' | 'getData' | 'getChildren' | 'getChildren2';
  readonly path: string | null;
  readonly watch?: boolean;
}

interface Setting {
  readonly op: 'setACL';
  readonly path: string | null;
  readonly acl: readonly AclItem[] | null;
  readonly version?: number;
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

/** A ConnectRequest, with its length in front. */
export function connectRequest(timeoutMs: number, { sessionId, password } = noTicket, lastZxid = 0): Buffer {
  return new RecordWriter().int(0).long(lastZxid).int(timeoutMs).long(sessionId).bytes(password).flag(false).frame();
}

/** The header and the record, with their length in front. */
export function encode(xid: number, request: Request, baseZxid = 0): Buffer {
  if (request.op === 'bent') {
    const whole = encode(xid, request.request, baseZxid).subarray(4);
    const kept = whole.subarray(0, Math.max(8, whole.length - request.cut));
    return new RecordWriter().raw(kept).raw(Buffer.from(request.added, 'hex')).frame();
  }
  const to = new RecordWriter().int(request.op === 'ping' ? xids.ping : xid);
  if (request.op === 'raw') return to.int(request.opcode).raw(Buffer.from(request.bytes, 'hex')).frame();
  writeRecord(to.int(opcodes[request.op]), request, baseZxid);
  return to.frame();
}

function writeRecord(to: RecordWriter, request: Exclude<Request, Raw | Bent>, baseZxid: number): void {
  switch (request.op) {
    case 'auth':
      to.int(0).bytes(request.scheme).bytes(request.credentials);
      break;
    case 'multi':
    case 'multiRead':
      for (const item of request.items) writeItem(to.int(opcodes[item.op]).flag(false).int(-1), item);
      to.int(-1).flag(true).int(-1);
      break;
    case 'setWatches':
    case 'setWatches2':
      to.long(baseZxid + request.zxid);
      for (const list of request.lists.slice(0, request.op === 'setWatches' ? 3 : 5))
        to.vector(list, (path) => to.bytes(path));
      break;
    case 'setACL':
      writeAcl(to.bytes(request.path), request.acl).int(request.version ?? -1);
      break;
    case 'addWatch':
    case 'removeWatches':
    case 'checkWatches':
      to.bytes(request.path).int(request.type);
      break;
    case 'getACL':
    case 'sync':
    case 'getEphemerals':
    case 'getAllChildrenNumber':
      to.bytes(request.path);
      break;
    case 'ping':
    case 'whoAmI':
    case 'closeSession':
      break;
    default:
      writeItem(to, request);
  }
}

const usualFlags = { create: 0, create2: 0, createContainer: 4, createTTL: 5 } as const;

function writeItem(to: RecordWriter, item: Item): void {
  to.bytes(item.path);
  switch (item.op) {
    case 'create':
    case 'create2':
    case 'createContainer':
    case 'createTTL': {
      const { data = '', acl = openAcl, flags = usualFlags[item.op], ttl = -1 } = item;
      writeAcl(to.bytes(data), acl).int(flags);
      if (item.op === 'createTTL') to.long(ttl);
      break;
    }
    case 'delete':
    case 'check':
      to.int(item.version ?? -1);
      break;
    case 'setData':
      to.bytes(item.data).int(item.version ?? -1);
      break;
    default:
      to.flag(item.watch ?? false);
  }
}

function writeAcl(to: RecordWriter, acl: readonly AclItem[] | null): RecordWriter {
  return to.vector(acl, ({ permissions, scheme, id }) => to.int(permissions).bytes(scheme).bytes(id));
}
