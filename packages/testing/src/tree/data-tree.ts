import { allows, openAcl, permissions, readOnlyAcl, type Acl } from '../wire/acl.js';
import { JavaHashSet } from '../wire/java-hash-set.js';
import { events, type EventType } from '../wire/opcodes.js';
import { WatchTable, type ServerVersion, type Watcher, type WatchEvent } from './watch-table.js';
import { persistent, Znode, type Life } from './znode.js';

/** All znodes and their watches. It checks nothing, because a Plan has checked each change before. */
export class DataTree {
  readonly version: ServerVersion;
  readonly dataWatches: WatchTable;
  readonly childWatches: WatchTable;
  /** The root has two names, '' and '/'. */
  readonly #znodes = new Map<string, Znode>();
  readonly #ephemerals = new Map<bigint, JavaHashSet>();
  /** The containers, and the znodes with a time to live. */
  readonly #reapable = new Set<string>();
  #events: WatchEvent[] = [];

  constructor(version: ServerVersion) {
    this.version = version;
    this.dataWatches = new WatchTable(version);
    this.childWatches = new WatchTable(version);
    const root = new Znode(Buffer.alloc(0), openAcl, persistent, 0, 0);
    this.#znodes.set('', root);
    this.#znodes.set('/', root);
    for (const [parent, name] of [
      ['', 'zookeeper'],
      ['/zookeeper', 'quota'],
      ['/zookeeper', 'config'],
    ] as const) {
      this.#znodes.get(parent)?.addChild(name);
      this.#znodes.set(`${parent}/${name}`, new Znode(Buffer.alloc(0), openAcl, persistent, 0, 0));
    }
    const config = this.get('/zookeeper/config');
    if (config) Object.assign(config, { acl: readOnlyAcl, aclVersion: -1 });
  }

  get(path: string): Znode | undefined {
    return this.#znodes.get(path);
  }

  /** All paths. The root has the path '/'. */
  *paths(): Generator<string> {
    for (const path of this.#znodes.keys()) if (path !== '') yield path;
  }

  /** The root counts twice, as it does in the Java server's own figures. */
  get size(): number {
    return this.#znodes.size;
  }

  countBelow(path: string): number {
    if (path === '/') return this.#znodes.size - 2;
    let count = 0;
    for (const other of this.#znodes.keys()) if (other.startsWith(`${path}/`)) count += 1;
    return count;
  }

  create(
    path: string,
    znode: { data: Buffer | null; acl: readonly Acl[]; life: Life; creates: number },
    { zxid, time }: Moment,
  ): Znode {
    const [parentPath, name] = split(path);
    const parent = this.#existing(parentPath);
    const created = new Znode(znode.data, znode.acl, znode.life, zxid, time);
    parent.addChild(name);
    parent.creates = znode.creates;
    parent.childrenZxid = zxid;
    this.#znodes.set(path, created);
    this.#keep(path, znode.life);
    this.#tell(this.dataWatches.trigger(path, events.created), events.created, path, { acl: znode.acl, zxid });
    this.#childrenChanged(parentPath, parent, zxid);
    return created;
  }

  delete(path: string, zxid: number): void {
    const [parentPath, name] = split(path);
    const { life, acl } = this.#existing(path);
    const parent = this.#existing(parentPath);
    parent.deleteChild(name);
    parent.childrenZxid = Math.max(parent.childrenZxid, zxid);
    this.#znodes.delete(path);
    this.#reapable.delete(path);
    if (life.is === 'ephemeral') this.#ephemerals.get(life.sessionId)?.delete(path);
    const told = this.dataWatches.trigger(path, events.deleted);
    this.#tell(told, events.deleted, path, { acl, zxid });
    // A connection that watches both the data and the children gets one event.
    this.#tell(this.childWatches.trigger(path, events.deleted), events.deleted, path, { acl, zxid }, told);
    this.#childrenChanged(parentPath, parent, zxid);
  }

  setData(path: string, data: Buffer | null, version: number, { zxid, time }: Moment): Znode {
    const znode = this.#existing(path);
    Object.assign(znode, { data, version, modifiedZxid: zxid, modifiedAt: time });
    this.#tell(this.dataWatches.trigger(path, events.dataChanged), events.dataChanged, path, { acl: znode.acl, zxid });
    return znode;
  }

  setAcl(path: string, acl: readonly Acl[], aclVersion: number): Znode {
    return Object.assign(this.#existing(path), { acl, aclVersion });
  }

  /** The session's ephemeral znodes, as a clone of the Java server's set lists them. */
  ephemeralsOf(sessionId: bigint): readonly string[] {
    return this.#ephemerals.get(sessionId)?.listOfClone() ?? [];
  }

  deleteEphemerals(sessionId: bigint, zxid: number): void {
    const paths = this.ephemeralsOf(sessionId);
    this.#ephemerals.delete(sessionId);
    for (const path of paths) this.delete(path, zxid);
  }

  get ephemeralCount(): number {
    let count = 0;
    for (const { size } of this.#ephemerals.values()) count += size;
    return count;
  }

  /** Containers that had children and have none now, and znodes without children whose time to live is over. */
  reapable(time: number): string[] {
    return [...this.#reapable].filter((path) => {
      const znode = this.#existing(path);
      if (znode.childCount > 0) return false;
      return znode.life.is === 'ttl' ? time - znode.modifiedAt > znode.life.ttlMs : znode.creates > 0;
    });
  }

  removeWatcher(watcher: Watcher): void {
    this.dataWatches.removeAll(watcher);
    this.childWatches.removeAll(watcher);
  }

  /** Sends an event to one connection. */
  tell(watcher: Watcher, type: EventType, path: string, zxid = -1): void {
    this.#events.push({ watcher, type, path, zxid: this.version === '3.8' ? -1 : zxid });
  }

  /** Returns the events since the last call, in order. */
  takeEvents(): readonly WatchEvent[] {
    if (this.#events.length === 0) return noEvents;
    const taken = this.#events;
    this.#events = [];
    return taken;
  }

  #childrenChanged(path: string, { acl }: Znode, zxid: number): void {
    const name = path || '/';
    this.#tell(this.childWatches.trigger(name, events.childrenChanged), events.childrenChanged, name, { acl, zxid });
  }

  /**
   * Sends an event to the connections that may read the znode (CVE-2024-23944). The watches of the others are removed,
   * too.
   */
  #tell(
    watchers: ReadonlySet<Watcher>,
    type: EventType,
    path: string,
    { acl, zxid }: { readonly acl: readonly Acl[]; readonly zxid: number },
    except?: ReadonlySet<Watcher>,
  ): void {
    for (const watcher of watchers) {
      if (!except?.has(watcher) && allows(acl, permissions.read, watcher.identities))
        this.tell(watcher, type, path, zxid);
    }
  }

  #keep(path: string, life: Life): void {
    if (life.is === 'ephemeral') {
      const paths = this.#ephemerals.get(life.sessionId) ?? new JavaHashSet(16);
      paths.add(path);
      this.#ephemerals.set(life.sessionId, paths);
    } else if (life.is !== 'persistent') this.#reapable.add(path);
  }

  #existing(path: string): Znode {
    const znode = this.#znodes.get(path);
    if (!znode) throw new Error(`No znode ${path}: the plan was checked against another tree`);
    return znode;
  }
}

/** When a change is made: the transaction's number, and the time in milliseconds since 1970. */
export interface Moment {
  readonly zxid: number;
  readonly time: number;
}

const noEvents: readonly WatchEvent[] = [];

function split(path: string): [parent: string, name: string] {
  const slash = path.lastIndexOf('/');
  return [path.slice(0, slash), path.slice(slash + 1)];
}
