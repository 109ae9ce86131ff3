import type { Acl } from '../wire/acl.js';
import { JavaHashSet } from '../wire/java-hash-set.js';
import type { JuteWriter } from '../wire/jute.js';

export class Znode implements ZnodeView {
  readonly createdZxid: number;
  readonly createdAt: number;
  readonly life: Life;
  data: Buffer | null;
  acl: readonly Acl[];
  version = 0;
  aclVersion = 0;
  creates = 0;
  modifiedZxid: number;
  modifiedAt: number;
  childrenZxid: number;
  #children: JavaHashSet | undefined;

  constructor(data: Buffer | null, acl: readonly Acl[], life: Life, zxid: number, time: number) {
    this.data = data;
    this.acl = acl;
    this.life = life;
    this.createdZxid = this.modifiedZxid = this.childrenZxid = zxid;
    this.createdAt = this.modifiedAt = time;
  }

  get childCount(): number {
    return this.#children?.size ?? 0;
  }

  get children(): readonly string[] {
    return this.#children?.list() ?? noChildren;
  }

  addChild(name: string): void {
    this.#children ??= new JavaHashSet(8);
    this.#children.add(name);
  }

  deleteChild(name: string): void {
    this.#children?.delete(name);
  }

  writeStat(writer: JuteWriter): void {
    writer.count(this.createdZxid).count(this.modifiedZxid).count(this.createdAt).count(this.modifiedAt);
    // Clients see the number of changes: each deleted child counts twice.
    writer
      .int(this.version)
      .int(this.creates * 2 - this.childCount)
      .int(this.aclVersion);
    writer.long(this.life.is === 'ephemeral' ? this.life.sessionId : 0n);
    writer
      .int(this.data?.length ?? 0)
      .int(this.childCount)
      .count(this.childrenZxid);
  }
}

/** The condition for a znode's life: none, a session, its children, or a time. */
export type Life =
  | { readonly is: 'persistent' }
  | { readonly is: 'ephemeral'; readonly sessionId: bigint }
  | { readonly is: 'container' }
  | { readonly is: 'ttl'; readonly ttlMs: number };

export const persistent: Life = { is: 'persistent' };

/** A znode as the checks see it: as it is now, or as the earlier operations of the same multi will leave it. */
export interface ZnodeView {
  readonly acl: readonly Acl[];
  readonly life: Life;
  readonly version: number;
  readonly aclVersion: number;
  /** The number of children ever created, which is the number of the next sequential child. */
  readonly creates: number;
  readonly childCount: number;
}

const noChildren: readonly string[] = [];
