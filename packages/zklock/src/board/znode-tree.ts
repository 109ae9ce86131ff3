import type { LockHost } from '../../../../src/client/lock-host.js';
import type { Stat } from '../../../../src/zookeeper/wire/operations.js';
import { join, parentsOf } from '../../../../src/zookeeper/wire/path.js';
import { participantName } from './participant-name.js';
import { ParticipantZnode, type Unreadable } from './participant-znode.js';
import { SecondLooks } from './second-looks.js';
import { TreeFeed, type TreeReader } from './tree-feed.js';

/**
 * A live copy of the znodes below a path: every directory, and in each the participants of a lock. It reads everything
 * once for each connection, and afterwards what changes. Servers do not tell all changes, so it reads the znodes again
 * from time to time.
 */
export class ZnodeTree implements TreeReader {
  readonly #host: LockHost;
  readonly #root: string;
  readonly #listener: TreeListener;
  readonly #stopFollowing: () => void;
  readonly #withoutRecursion = new Set<string>();
  readonly #directories = new Map<string, Directory>();
  readonly #unreadable = new Map<string, Unreadable>();
  readonly #secondLooks: SecondLooks;
  #feed: TreeFeed | undefined;
  /** True if everything has been read once on this connection. */
  #isComplete = false;

  constructor(host: LockHost, root: string, listener: TreeListener) {
    this.#host = host;
    this.#root = root;
    this.#listener = listener;
    this.#directories.set(root, new Directory(root));
    this.#secondLooks = new SecondLooks(host.clock, { unreadable: this.#unreadable, paths: () => this.#paths() });
    this.#stopFollowing = host.sessions.onChange(() => this.#follow());
    this.#follow();
  }

  get directories(): ReadonlyMap<string, Directory> {
    return this.#directories;
  }

  /** The znodes that the servers refuse to show, by path. */
  get unreadable(): ReadonlyMap<string, Unreadable> {
    return this.#unreadable;
  }

  /** True if the servers refuse to show this znode or one above it: what the tree knows of its children is not all. */
  isRefused(path: string): boolean {
    return this.#unreadable.size > 0 && ['/', ...parentsOf(path)].some((each) => this.#unreadable.has(each));
  }

  /** True if one recursive watch covers the tree now. */
  get isRecursive(): boolean {
    return this.#feed?.isRecursive ?? false;
  }

  close(): void {
    this.#stopFollowing();
    this.#secondLooks.stop();
    this.#feed?.end();
    this.#feed = undefined;
  }

  // The methods of TreeReader.

  listed(path: string, names: readonly string[], pzxid: bigint): void {
    const directory = this.#directories.get(path);
    if (!directory) return;
    const hidden = this.#unreadable.get(path);
    const before = new Set(directory.names());
    const present = new Set(names);
    for (const name of before) if (!present.has(name)) this.deleted(join(path, name), pzxid);
    for (const name of names) {
      if (this.#isHidden(path, name)) continue;
      const child = this.#add(directory, name);
      // Later changes of what was read on this connection are reported.
      if (this.#isComplete && this.isRecursive && before.has(name) && (child === 'directory' || child.isKnown))
        continue;
      if (child !== 'directory') this.#feed?.read(child.path);
      if (!this.#directories.has(join(path, name))) continue;
      if (hidden && !before.has(name)) this.#unreadable.set(join(path, name), hidden);
      this.#feed?.list(join(path, name));
    }
    if (directory.isWeighted) this.#feed?.read(path);
    // A directory without znodes may be a lock that has just become free.
    if (!this.#isComplete || names.some((name) => !before.has(name))) this.#changed(path);
    if (hidden) this.#reveal(directory);
  }

  /** A lock is shown again when all of it has been read: the answer to one more list comes behind that. */
  #reveal({ path, participants }: Directory): void {
    if (this.#isComplete && [...participants.values()].some(({ isKnown }) => !isKnown)) {
      this.#feed?.list(path);
      return;
    }
    this.#unreadable.delete(path);
    this.#listener.revealed(path);
  }

  read(path: string, data: Buffer, stat: Stat): void {
    const own = this.#directories.get(path);
    if (own?.isWeighted) {
      if (own.claim?.mzxid === stat.mzxid) return;
      own.claim = { data, mzxid: stat.mzxid };
      this.#listener.changed(path);
      return;
    }
    const { directory, name } = this.#placeOf(path);
    const znode = directory?.participants.get(name);
    if (!directory || !znode) return;
    const isNew = znode.content === undefined;
    const wasUnreadable = this.#unreadable.delete(path);
    znode.unreadableSince = undefined;
    if (!znode.read(data, stat) && !wasUnreadable) return;
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
    this.#feed?.list(path);
  }

  changed(path: string): void {
    const own = this.#directories.get(path);
    const { directory, name } = this.#placeOf(path);
    if (own ? own.isWeighted : directory?.participants.has(name)) this.#feed?.read(path);
  }

  /** @param latest the newest transaction that may have deleted it; undefined if its deletion is the newest event */
  deleted(path: string, latest?: bigint): void {
    this.#unreadable.delete(path);
    const { directory, name } = this.#placeOf(path);
    const znode = directory?.participants.get(name);
    if (directory && znode) {
      directory.participants.delete(name);
      this.#listener.left(znode, directory, latest);
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
    const { directory, name } = this.#placeOf(path);
    const znode = directory?.participants.get(name);
    // The refusal of a list of its parent, or another list, may have taken the znode out of the tree meanwhile. No answer
    // would tell that it has left.
    if (!znode && !this.#directories.has(path) && path !== this.#root) return;
    const before = this.#unreadable.get(path);
    const sinceMs = before?.sinceMs ?? this.#host.clock.wall();
    this.#unreadable.set(path, { error, sinceMs, looks: before?.looks ?? 0 });
    if (before) return;
    if (directory && znode) {
      znode.unreadableSince = sinceMs;
      this.#changed(directory.path);
    }
    // They may have left meanwhile, and no list will tell.
    for (const name of this.#directories.get(path)?.names() ?? []) this.deleted(join(path, name));
    this.#listener.changed(path);
  }

  complete(): void {
    this.#isComplete = true;
    this.#secondLooks.start((path) => this.#lookAgain(path));
    this.#listener.complete();
  }

  #lookAgain(path: string): void {
    const isDirectory = this.#directories.has(path);
    if (isDirectory) this.#feed?.list(path);
    // A lock may be named as a participant of another one.
    const { directory, name } = this.#placeOf(path);
    if (!isDirectory || directory?.participants.get(name)?.unreadableSince !== undefined) this.#feed?.read(path);
  }

  *#paths(): Generator<string> {
    for (const { path, participants } of this.#directories.values()) {
      yield path;
      for (const znode of participants.values()) yield znode.path;
    }
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
    this.#secondLooks.stop();
    this.#isComplete = false;
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

  /** A permit beside this mutex of a semaphore that a transaction before this one created is granted. */
  grantsBefore = 0n;

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
  /** A directory can be read again. What it contains may have changed at any time while it could not. */
  revealed(path: string): void;
  /** A participant's content was read for the first time. */
  joined(znode: ParticipantZnode): void;
  /**
   * A participant has been deleted. Its content may never have been read.
   *
   * @param latest the newest transaction that may have deleted it; undefined if its deletion is the newest event
   */
  left(znode: ParticipantZnode, directory: Directory, latest?: bigint): void;
  /** Everything has been read once on this connection. */
  complete(): void;
  /** The connection has ended. What the tree shows may be old until the next `complete`. */
  cutOff(): void;
}
