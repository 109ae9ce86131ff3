import type { LockHost } from '../client/lock-host.js';
import type { Stat } from '../zookeeper/operations.js';
import { join, parentsOf } from '../zookeeper/path.js';
import { participantName } from './participant-name.js';
import { ParticipantZnode } from './participant-znode.js';
import { TreeFeed, type TreeReader } from './tree-feed.js';

/**
 * A live copy of the znodes below a path: every directory, and in each the participants of a lock. It reads everything
 * once for each connection, and afterwards only what changes.
 */
export class ZnodeTree implements TreeReader {
  readonly #host: LockHost;
  readonly #root: string;
  readonly #listener: TreeListener;
  readonly #stopFollowing: () => void;
  readonly #withoutRecursion = new Set<string>();
  readonly #directories = new Map<string, Directory>();
  readonly #unreadable = new Map<string, unknown>();
  #feed: TreeFeed | undefined;

  constructor(host: LockHost, root: string, listener: TreeListener) {
    this.#host = host;
    this.#root = root;
    this.#listener = listener;
    this.#directories.set(root, new Directory(root));
    this.#stopFollowing = host.sessions.onChange(() => this.#follow());
    this.#follow();
  }

  get directories(): ReadonlyMap<string, Directory> {
    return this.#directories;
  }

  /** The paths that the servers refused to show, and their errors. */
  get unreadable(): ReadonlyMap<string, unknown> {
    return this.#unreadable;
  }

  /** True if the servers refused to show this znode or one above it: what the tree knows of its children is not all. */
  isRefused(path: string): boolean {
    return this.#unreadable.size > 0 && ['/', ...parentsOf(path)].some((each) => this.#unreadable.has(each));
  }

  /** True if one recursive watch covers the tree now. */
  get isRecursive(): boolean {
    return this.#feed?.isRecursive ?? false;
  }

  close(): void {
    this.#stopFollowing();
    this.#feed?.end();
    this.#feed = undefined;
  }

  // The methods of TreeReader.

  listed(path: string, names: readonly string[]): void {
    const directory = this.#directories.get(path);
    if (!directory) return;
    this.#unreadable.delete(path);
    const present = new Set(names);
    for (const name of directory.names()) if (!present.has(name)) this.deleted(join(path, name));
    for (const name of names) {
      if (this.#isHidden(path, name)) continue;
      const child = this.#add(directory, name);
      if (child !== 'directory') this.#feed?.read(child.path);
      if (this.#directories.has(join(path, name))) this.#feed?.list(join(path, name));
    }
    if (directory.isWeighted) this.#feed?.read(path);
    // A directory without znodes may be a lock that has just become free.
    this.#changed(path);
  }

  read(path: string, data: Buffer, stat: Stat): void {
    this.#unreadable.delete(path);
    const own = this.#directories.get(path);
    if (own?.isWeighted) {
      own.claim = { data, mzxid: stat.mzxid };
      this.#listener.changed(path);
      return;
    }
    const { directory, name } = this.#placeOf(path);
    const znode = directory?.participants.get(name);
    if (!directory || !znode) return;
    const isNew = znode.content === undefined;
    if (!znode.read(data, stat)) return;
    if (isNew) this.#listener.joined(znode);
    // No session owns it, so it may be a lock whose name looks like a participant's.
    if (znode.content?.sessionId === undefined && !this.#directories.has(path)) {
      this.#directories.set(path, new Directory(path));
      this.#feed?.list(path);
    }
    this.#changed(directory.path);
  }

  created(path: string): void {
    if (path === this.#root) {
      this.#listener.changed(path);
      return;
    }
    const { directory, name } = this.#placeOf(path);
    if (!directory || this.#isHidden(directory.path, name)) return;
    const wasWeighted = directory.isWeighted;
    const child = this.#add(directory, name);
    if (directory.isWeighted && !wasWeighted) this.#feed?.read(directory.path);
    if (child !== 'directory') {
      this.#feed?.read(path);
      return;
    }
    this.#changed(directory.path);
    // The recursive watch reports the children of a new znode one by one.
    if (!this.isRecursive) this.#feed?.list(path);
  }

  changed(path: string): void {
    const own = this.#directories.get(path);
    const { directory, name } = this.#placeOf(path);
    if (own ? own.isWeighted : directory?.participants.has(name)) this.#feed?.read(path);
  }

  deleted(path: string): void {
    this.#unreadable.delete(path);
    const { directory, name } = this.#placeOf(path);
    const znode = directory?.participants.get(name);
    if (directory && znode) {
      directory.participants.delete(name);
      this.#listener.left(znode, directory);
      this.#changed(directory.path);
    }
    directory?.subdirectories.delete(name);
    const own = this.#directories.get(path);
    if (!own) return;
    for (const child of own.names()) this.deleted(join(path, child));
    // The root may come back, and is watched all the time.
    if (path !== this.#root) this.#directories.delete(path);
    this.#listener.changed(path);
  }

  refused(path: string, error: unknown): void {
    this.#unreadable.set(path, error);
    // They may have left meanwhile, and no list will tell.
    for (const name of this.#directories.get(path)?.names() ?? []) this.deleted(join(path, name));
    this.#listener.changed(path);
  }

  complete(): void {
    this.#listener.complete();
  }

  /** A znode that is named as a participant stops to look like one with its first child. */
  #changed(path: string): void {
    this.#listener.changed(path);
    const { directory, name } = this.#placeOf(path);
    if (directory?.participants.has(name)) this.#listener.changed(directory.path);
  }

  #follow(): void {
    const { sessions, clock } = this.#host;
    const session = sessions.current;
    if (this.#feed?.serves(session)) return;
    const wasConnected = this.#feed !== undefined;
    this.#feed?.end();
    this.#feed = undefined;
    if (this.#host.isClosing) return;
    if (wasConnected) this.#listener.cutOff();
    if (session.isConnected) this.#feed = new TreeFeed({ session, clock }, this.#root, this, this.#withoutRecursion);
  }

  #add(directory: Directory, name: string): ParticipantZnode | 'directory' {
    const known = directory.participants.get(name);
    if (known) return known;
    const path = join(directory.path, name);
    const said = participantName(name);
    if (said === undefined) {
      directory.subdirectories.add(name);
      if (!this.#directories.has(path)) this.#directories.set(path, new Directory(path));
      return 'directory';
    }
    const znode = new ParticipantZnode(path, said);
    directory.participants.set(name, znode);
    if (said.is === 'weighted') directory.isWeighted = true;
    return znode;
  }

  #placeOf(path: string): { readonly directory: Directory | undefined; readonly name: string } {
    const slash = path.lastIndexOf('/');
    return { directory: this.#directories.get(path.slice(0, slash) || '/'), name: path.slice(slash + 1) };
  }

  /** The servers' own znodes are no locks. */
  #isHidden(parent: string, name: string): boolean {
    return parent === '/' && name === 'zookeeper';
  }
}

/** A znode that may have children. */
export class Directory {
  readonly path: string;
  /** The participants of the lock whose znode this is, by name. */
  readonly participants = new Map<string, ParticipantZnode>();
  /** The names of the other children. */
  readonly subdirectories = new Set<string>();
  /** True if a participant has a weight. Then the data of this znode name the holder. */
  isWeighted = false;
  /** The data of this znode, of a lock with weights. */
  claim: { readonly data: Buffer; readonly mzxid: bigint } | undefined;

  constructor(path: string) {
    this.path = path;
  }

  get hasChildren(): boolean {
    return this.participants.size > 0 || this.subdirectories.size > 0;
  }

  names(): string[] {
    return [...this.participants.keys(), ...this.subdirectories];
  }
}

/** The receiver of a tree's changes. */
export interface TreeListener {
  /** The content of a directory has changed, or the directory has been deleted. */
  changed(path: string): void;
  /** A participant's content was read for the first time. */
  joined(znode: ParticipantZnode): void;
  /** A participant has been deleted. Its content may never have been read. */
  left(znode: ParticipantZnode, directory: Directory): void;
  /** Everything has been read once on this connection. */
  complete(): void;
  /** The connection has ended. What the tree shows may be old until the next `complete`. */
  cutOff(): void;
}
