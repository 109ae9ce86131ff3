import type { DataTree } from '../../packages/testing/src/tree/data-tree.ts';
import type { DecidedState } from '../../packages/testing/src/tree/proposer.ts';
import type { ZnodeView } from '../../packages/testing/src/tree/znode.ts';

/**
 * The znodes as they will be when all proposals of a leader are applied. Java's PrepRequestProcessor calls these
 * differences the outstanding changes.
 */
export class OutstandingChanges implements DecidedState {
  readonly #tree: DataTree;
  readonly #znodes = new Map<string, { readonly zxid: number; readonly view: ZnodeView | 'deleted' }>();
  readonly #proposed: { readonly zxid: number; readonly paths: readonly string[] }[] = [];

  constructor(tree: DataTree) {
    this.#tree = tree;
  }

  get(path: string): ZnodeView | undefined {
    const changed = this.#znodes.get(path);
    if (changed === undefined) return this.#tree.get(path);
    return changed.view === 'deleted' ? undefined : changed.view;
  }

  decided(zxid: number, changed: ReadonlyMap<string, ZnodeView | 'deleted'>): void {
    for (const [path, view] of changed) this.#znodes.set(path, { zxid, view });
    this.#proposed.push({ zxid, paths: [...changed.keys()] });
  }

  delete(zxid: number, paths: readonly string[]): void {
    const changed = new Map<string, ZnodeView | 'deleted'>();
    for (const path of paths) {
      const parentPath = path.slice(0, path.lastIndexOf('/'));
      const before = changed.get(parentPath);
      const parent = before === 'deleted' ? undefined : (before ?? this.get(parentPath));
      if (parent) changed.set(parentPath, { ...viewOf(parent), childCount: parent.childCount - 1 });
      changed.set(path, 'deleted');
    }
    this.decided(zxid, changed);
  }

  /** The session's ephemeral znodes. */
  ephemeralsOf(sessionId: bigint): string[] {
    const paths = this.#tree.ephemeralsOf(sessionId).filter((path) => this.get(path) !== undefined);
    for (const [path, { view }] of this.#znodes) {
      if (view === 'deleted' || view.life.is !== 'ephemeral' || view.life.sessionId !== sessionId) continue;
      if (!paths.includes(path)) paths.push(path);
    }
    return paths;
  }

  /** The tree contains the changes of this proposal, and of all before it. */
  applied(zxid: number): void {
    for (let [first] = this.#proposed; first !== undefined && first.zxid <= zxid; [first] = this.#proposed) {
      this.#proposed.shift();
      for (const path of first.paths) if (this.#znodes.get(path)?.zxid === first.zxid) this.#znodes.delete(path);
    }
  }
}

function viewOf({ acl, life, version, aclVersion, creates, childCount }: ZnodeView): ZnodeView {
  return { acl, life, version, aclVersion, creates, childCount };
}
