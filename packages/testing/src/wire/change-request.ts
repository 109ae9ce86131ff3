import { readAcl, type AclEntry } from './acl.js';
import type { JuteReader } from './jute.js';
import { opcodes } from './opcodes.js';
import { Refusal } from './refusal.js';

/** A request for a change: read, but not yet checked. */
export type ChangeRequest =
  | {
      readonly is: 'create';
      readonly opcode: number;
      readonly path: string | null;
      readonly data: Buffer | null;
      readonly acl: AclEntry[] | null;
      readonly flags: number;
      readonly ttlMs: bigint | null;
    }
  | { readonly is: 'delete'; readonly path: string | null; readonly version: number }
  | { readonly is: 'setData'; readonly path: string | null; readonly data: Buffer | null; readonly version: number }
  | { readonly is: 'setACL'; readonly path: string | null; readonly acl: AclEntry[] | null; readonly version: number }
  | { readonly is: 'check'; readonly path: string | null; readonly version: number };

export function readChange(opcode: number, reader: JuteReader): ChangeRequest | undefined {
  switch (opcode) {
    case opcodes.create:
    case opcodes.create2:
    case opcodes.createContainer:
      return {
        is: 'create',
        opcode,
        path: reader.text(),
        data: reader.bytes(),
        acl: readAcl(reader),
        flags: reader.int(),
        ttlMs: -1n,
      };
    case opcodes.createTTL:
      return {
        is: 'create',
        opcode,
        path: reader.text(),
        data: reader.bytes(),
        acl: readAcl(reader),
        flags: reader.int(),
        ttlMs: reader.long(),
      };
    case opcodes.delete:
      return { is: 'delete', path: reader.text(), version: reader.int() };
    case opcodes.setData:
      return { is: 'setData', path: reader.text(), data: reader.bytes(), version: reader.int() };
    case opcodes.setACL:
      return { is: 'setACL', path: reader.text(), acl: readAcl(reader), version: reader.int() };
    case opcodes.check:
      return { is: 'check', path: reader.text(), version: reader.int() };
    default:
      return undefined;
  }
}

/** One read of a multiRead. The server refuses a multi that contains one. */
export interface ReadItem {
  readonly is: 'getData' | 'getChildren';
  readonly path: string | null;
}

/** The items of a multi or a multiRead: all changes, or all reads. */
export type Items =
  | { readonly are: 'changes'; readonly changes: readonly ChangeRequest[] }
  | { readonly are: 'reads'; readonly reads: readonly ReadItem[] };

export function readItems(reader: JuteReader): Items {
  const changes: ChangeRequest[] = [];
  const reads: ReadItem[] = [];
  for (;;) {
    const opcode = reader.int();
    const isDone = reader.flag();
    reader.int();
    if (isDone) break;
    const read = readRead(opcode, reader);
    if (read) reads.push(read);
    else changes.push(readItemChange(opcode, reader));
  }
  if (reads.length > 0 && changes.length > 0) throw Refusal.of('MARSHALLING_ERROR');
  return reads.length > 0 ? { are: 'reads', reads } : { are: 'changes', changes };
}

function readRead(opcode: number, reader: JuteReader): ReadItem | undefined {
  const is = opcode === opcodes.getData ? 'getData' : opcode === opcodes.getChildren ? 'getChildren' : undefined;
  if (is === undefined) return undefined;
  const path = reader.text();
  // No item of a multiRead leaves a watch, even if its flag asks for one.
  reader.flag();
  return { is, path };
}

/** In a multi, the flags of a create decide its kind, not its opcode. */
function readItemChange(opcode: number, reader: JuteReader): ChangeRequest {
  const change = opcode === opcodes.setACL ? undefined : readChange(opcode, reader);
  if (!change) throw Refusal.of('MARSHALLING_ERROR');
  if (change.is !== 'create') return change;
  switch (change.flags) {
    case 4:
      return { ...change, opcode: opcodes.createContainer, ttlMs: -1n };
    case 5:
    case 6:
      // The record of a plain create has no field for the time to live, so the Java server fails on it.
      return { ...change, opcode: opcodes.createTTL, ttlMs: opcode === opcodes.createTTL ? change.ttlMs : null };
    default:
      return { ...change, opcode: opcodes.create, ttlMs: -1n };
  }
}
