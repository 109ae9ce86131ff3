import { Refusal } from '../wire/refusal.js';

/** ZooKeeper's own znodes, which cannot be deleted. */
const special = new Set(['/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config']);

// oxlint-disable-next-line no-control-regex -- ZooKeeper refuses control characters
const refusedCharacter = /[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff]/;
const emptyOrRelativeName = /\/(?:\/|\.{1,2}(?:\/|$))/;

/** Refuses every path that `PathUtils.validatePath` of the Java server refuses. */
export function checkPath(path: string | null): asserts path is string {
  if (path?.startsWith('/') !== true) throw Refusal.of('BAD_ARGUMENTS');
  if (path === '/') return;
  if (path.endsWith('/') || refusedCharacter.test(path) || emptyOrRelativeName.test(path))
    throw Refusal.of('BAD_ARGUMENTS');
}

/**
 * The parent of the path in a create request. A sequential create appends a number to this path. The parent of `/a` is
 * the empty path: the root has two names.
 */
export function parentOfNew(path: string): string {
  const slash = path.lastIndexOf('/');
  if (slash === -1 || path.includes('\0')) throw Refusal.of('BAD_ARGUMENTS');
  return path.slice(0, slash);
}

/** The parent of the path in a delete request. Refuses ZooKeeper's own znodes. */
export function parentOfDeleted(path: string): string {
  if (special.has(path)) throw Refusal.of('BAD_ARGUMENTS');
  return parentOfNew(path);
}
