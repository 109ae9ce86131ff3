import type { Acl } from '../wire/acl.js';
import type { DataTree, Moment } from './data-tree.js';
import type { JuteWriter } from '../wire/jute.js';
import { opcodes } from '../wire/opcodes.js';
import type { Life } from './znode.js';

/** A checked change, which can be carried out. */
export type Transaction =
  | {
      readonly is: 'create';
      readonly opcode: number;
      readonly path: string;
      readonly data: Buffer | null;
      readonly acl: readonly Acl[];
      readonly life: Life;
      readonly creates: number;
    }
  | { readonly is: 'delete'; readonly path: string }
  | { readonly is: 'setData'; readonly path: string; readonly data: Buffer | null; readonly version: number }
  | { readonly is: 'setACL'; readonly path: string; readonly acl: readonly Acl[]; readonly version: number }
  | { readonly is: 'check' };

/** Carries out the change, and writes the body of the answer if a client waits for one. */
export function apply(transaction: Transaction, tree: DataTree, moment: Moment, writer?: JuteWriter): void {
  switch (transaction.is) {
    case 'create': {
      const created = tree.create(transaction.path, transaction, moment);
      writer?.text(transaction.path);
      if (writer && transaction.opcode !== opcodes.create) created.writeStat(writer);
      break;
    }
    case 'delete':
      tree.delete(transaction.path, moment.zxid);
      break;
    case 'setData': {
      const changed = tree.setData(transaction.path, transaction.data, transaction.version, moment);
      if (writer) changed.writeStat(writer);
      break;
    }
    case 'setACL': {
      const changed = tree.setAcl(transaction.path, transaction.acl, transaction.version);
      if (writer) changed.writeStat(writer);
      break;
    }
    case 'check':
      break;
  }
}

/** The type in the header of a multi's result. */
export function resultType(transaction: Transaction): number {
  switch (transaction.is) {
    case 'create':
      return transaction.opcode === opcodes.create ? opcodes.create : opcodes.create2;
    case 'delete':
    case 'setData':
    case 'setACL':
    case 'check':
      return opcodes[transaction.is];
  }
}
