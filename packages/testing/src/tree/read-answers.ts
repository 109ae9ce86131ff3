import { allows, checkAcl, permissions, withoutDigests, writeAcl } from '../wire/acl.js';
import type { DataTree } from './data-tree.js';
import { providerOf, type Identity } from '../wire/identity.js';
import type { JuteReader, JuteWriter } from '../wire/jute.js';
import { errorType, opcodes } from '../wire/opcodes.js';
import { readItems, type ReadItem } from '../wire/change-request.js';
import { Refusal } from '../wire/refusal.js';
import type { Watcher } from './watch-table.js';
import type { Znode } from './znode.js';

/** The request, the reader of its record, and the state that the answer depends on. */
export interface Reading {
  readonly tree: DataTree;
  readonly watcher: Watcher;
  readonly sessionId: bigint;
  readonly identities: readonly Identity[];
  readonly reader: JuteReader;
  readonly writer: JuteWriter;
}

type Answer = (reading: Reading) => void;

/** The function that answers each read: it writes the body, or refuses the request. */
export const readAnswers = new Map<number, Answer>([
  [opcodes.exists, exists],
  [opcodes.getData, getData],
  [opcodes.getChildren, getChildren],
  [opcodes.getChildren2, getChildren2],
  [opcodes.getACL, getAcl],
  [opcodes.getAllChildrenNumber, getAllChildrenNumber],
  [opcodes.getEphemerals, getEphemerals],
  [opcodes.multiRead, multiRead],
  [opcodes.whoAmI, whoAmI],
  [opcodes.sync, ({ reader, writer }) => void writer.text(reader.text())],
]);

function exists({ tree, watcher, identities, reader, writer }: Reading): void {
  const path = pathOf(reader.text());
  const watches = reader.flag();
  if (path.includes('\0')) throw Refusal.of('BAD_ARGUMENTS');
  // 3.9.5 lets only those ask who may read the znode (ZOOKEEPER-2590).
  if (tree.version === '3.9' && tree.get(path)) readable(tree, path, identities);
  if (watches) tree.dataWatches.add(path, watcher, 'once');
  found(tree, path).writeStat(writer);
}

function getData({ tree, watcher, identities, reader, writer }: Reading): void {
  const path = pathOf(reader.text());
  const watches = reader.flag();
  const znode = readable(tree, path, identities);
  if (watches) tree.dataWatches.add(path, watcher, 'once');
  znode.writeStat(writer.bytes(znode.data));
}

function getChildren(reading: Reading): void {
  reading.writer.texts(watchedChildren(reading).children);
}

function getChildren2(reading: Reading): void {
  const parent = watchedChildren(reading);
  parent.writeStat(reading.writer.texts(parent.children));
}

function watchedChildren({ tree, watcher, identities, reader }: Reading): Znode {
  const path = pathOf(reader.text());
  const watches = reader.flag();
  const parent = readable(tree, path, identities);
  if (watches) tree.childWatches.add(path, watcher, 'once');
  return parent;
}

function getAcl({ tree, identities, reader, writer }: Reading): void {
  const znode = found(tree, pathOf(reader.text()));
  checkAcl(znode.acl, permissions.read | permissions.admin, identities);
  writeAcl(writer, allows(znode.acl, permissions.admin, identities) ? znode.acl : withoutDigests(znode.acl));
  znode.writeStat(writer);
}

function getAllChildrenNumber({ tree, identities, reader, writer }: Reading): void {
  const path = pathOf(reader.text());
  readable(tree, path, identities);
  writer.int(tree.countBelow(path));
}

function getEphemerals({ tree, sessionId, reader, writer }: Reading): void {
  const prefix = reader.text() ?? '';
  const isAll = ['', '/'].includes(prefix.trim());
  writer.texts(tree.ephemeralsOf(sessionId).filter((path) => isAll || path.startsWith(prefix)));
}

function whoAmI({ identities, writer }: Reading): void {
  writer.int(identities.length);
  for (const { scheme, id } of identities) writer.text(scheme).text(providerOf(scheme)?.userOf(id) ?? '');
}

function multiRead(reading: Reading): void {
  const { writer } = reading;
  const items = readItems(reading.reader);
  try {
    if (items.are === 'changes' && items.changes.length > 0) throw Refusal.of('MARSHALLING_ERROR');
    for (const item of items.are === 'reads' ? items.reads : []) {
      // One frame can ask for the same large znode a hundred thousand times.
      if (writer.length > mostBytes) throw Refusal.of('MARSHALLING_ERROR');
      answerItem(item, reading);
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    // The Java server sends the results of the items before the one that fails.
    writer.replaceInt(errorPlace, error.number);
  }
  writer.int(-1).flag(true).int(-1);
}

/** Java's client accepts no longer answer by default. */
const mostBytes = 4 * 1_024 * 1_024;

/** The position of the error in a header: after the xid and the zxid. */
export const errorPlace = 12;

function answerItem({ is, path }: ReadItem, { tree, identities, writer }: Reading): void {
  try {
    const znode = readable(tree, pathOf(path), identities);
    writer.int(opcodes[is]).flag(false).int(0);
    if (is === 'getData') znode.writeStat(writer.bytes(znode.data));
    else writer.texts(znode.children);
  } catch (error) {
    if (!(error instanceof Refusal) || error === Refusal.of('MARSHALLING_ERROR')) throw error;
    writer.int(errorType).flag(false).int(error.number).int(error.number);
  }
}

function readable(tree: DataTree, path: string, identities: readonly Identity[]): Znode {
  const znode = found(tree, path);
  checkAcl(znode.acl, permissions.read, identities);
  return znode;
}

function found(tree: DataTree, path: string): Znode {
  const znode = tree.get(path);
  if (!znode) throw Refusal.of('NO_NODE');
  return znode;
}

/** The Java server fails on a null, and answers as if it could not read the record. */
function pathOf(path: string | null): string {
  if (path === null) throw Refusal.of('MARSHALLING_ERROR');
  return path;
}
