import { events, opcodes } from '../wire/opcodes.js';
import type { Reading } from './read-answers.js';
import { Refusal } from '../wire/refusal.js';
import type { DataTree } from './data-tree.js';
import type { Watcher, WatchMode, WatchTable } from './watch-table.js';

type Answer = (reading: Reading) => void;

/** The function that answers each request about watches. */
export const watchAnswers = new Map<number, Answer>([
  [opcodes.setWatches, (reading) => setWatches(reading, false)],
  [opcodes.setWatches2, (reading) => setWatches(reading, true)],
  [opcodes.addWatch, addWatch],
  [opcodes.removeWatches, removeWatches],
  [opcodes.checkWatches, checkWatches],
]);

/**
 * A client sends this on a new connection. The server sends events for the changes since the last zxid that the client
 * saw, and watches the other znodes.
 */
function setWatches({ tree, watcher, reader }: Reading, hasPersistent: boolean): void {
  const seen = Number(reader.long());
  const [data, exist, child, persistent, recursive] = Array.from({ length: hasPersistent ? 5 : 3 }, () =>
    reader.texts(),
  );
  for (const path of given(data)) {
    const znode = tree.get(path);
    if (!znode) tree.tell(watcher, events.deleted, path);
    else if (znode.modifiedZxid > seen) tree.tell(watcher, events.dataChanged, path);
    else tree.dataWatches.add(path, watcher, 'once');
  }
  for (const path of given(exist)) {
    if (tree.get(path)) tree.tell(watcher, events.created, path);
    else tree.dataWatches.add(path, watcher, 'once');
  }
  for (const path of given(child)) {
    const znode = tree.get(path);
    if (!znode) tree.tell(watcher, events.deleted, path);
    else if (znode.childrenZxid > seen) tree.tell(watcher, events.childrenChanged, path);
    else tree.childWatches.add(path, watcher, 'once');
  }
  if (!hasPersistent) return;
  for (const [paths, mode] of [
    [persistent, 'persistent'],
    [recursive, 'recursive'],
  ] as const) {
    for (const path of given(paths)) addTo(tree, path, watcher, mode);
  }
}

/** The Java server fails on a null list, but it has handled the lists before it by then. */
function* given(paths: readonly (string | null)[] | null | undefined): Generator<string> {
  if (!paths) throw Refusal.of('MARSHALLING_ERROR');
  for (const path of paths) {
    if (path === null) throw Refusal.of('MARSHALLING_ERROR');
    yield path;
  }
}

function addWatch({ tree, watcher, reader, writer }: Reading): void {
  const path = reader.text();
  const mode = [undefined, 'persistent', 'recursive'][reader.int() + 1] as 'persistent' | 'recursive' | undefined;
  if (mode === undefined || path === null) throw Refusal.of('MARSHALLING_ERROR');
  addTo(tree, path, watcher, mode);
  writer.int(0);
}

/** In 3.9, only the table of the data has recursive watches, because their events are complete there. */
function addTo(tree: DataTree, path: string, watcher: Watcher, mode: 'persistent' | 'recursive'): void {
  tree.dataWatches.add(path, watcher, mode);
  if (mode === 'persistent' || tree.version === '3.8') tree.childWatches.add(path, watcher, mode);
}

function removeWatches(reading: Reading): void {
  const path = reading.reader.text();
  const { tables, mode } = watchesOf(reading);
  const removed = tables.map((table) => path !== null && table.remove(path, reading.watcher, mode));
  if (!removed.includes(true)) throw Refusal.of('NO_WATCHER');
}

function checkWatches(reading: Reading): void {
  const path = reading.reader.text();
  const { tables, mode } = watchesOf(reading);
  if (path === null) throw Refusal.of('MARSHALLING_ERROR');
  const found = tables.map((table) => table.contains(path, reading.watcher, mode));
  if (!found.includes(true)) throw Refusal.of('NO_WATCHER');
}

/** 1 means the children, 2 the data, 3 any. In 3.9, 1 and 2 spare lasting watches, 4 means persistent, 5 recursive. */
function watchesOf({ tree, reader }: Reading): { tables: WatchTable[]; mode: WatchMode | undefined } {
  const type = reader.int();
  if (type < 1 || type > (tree.version === '3.9' ? 5 : 3)) throw Refusal.of('MARSHALLING_ERROR');
  const modes: (WatchMode | undefined)[] = ['once', 'once', undefined, 'persistent', 'recursive'];
  return {
    tables: [...(type === 2 || type === 5 ? [] : [tree.childWatches]), ...(type === 1 ? [] : [tree.dataWatches])],
    mode: tree.version === '3.9' ? modes[type - 1] : undefined,
  };
}
