import { checkAcl, permissions, storedAcl } from '../wire/acl.js';
import type { ChangeRequest } from '../wire/change-request.js';
import type { Identity } from '../wire/identity.js';
import { opcodes } from '../wire/opcodes.js';
import { checkPath, parentOfDeleted, parentOfNew } from './path-rules.js';
import { Refusal } from '../wire/refusal.js';
import type { Transaction } from './transaction.js';
import type { Life, ZnodeView } from './znode.js';

/**
 * Checks changes one after another, against the znodes as the earlier changes of the same multi will leave it. The order
 * of the checks is that of the Java server's PrepRequestProcessor, because it decides which of several errors the
 * client sees.
 */
export class Plan {
  readonly #state: PlannedState;
  readonly #asker: Asker;
  readonly #hasTtl: boolean;
  readonly #changed = new Map<string, ZnodeView | 'deleted'>();

  constructor(state: PlannedState, asker: Asker, hasTtl: boolean) {
    this.#state = state;
    this.#asker = asker;
    this.#hasTtl = hasTtl;
  }

  /** The znodes as the checked changes will leave them. */
  get changed(): ReadonlyMap<string, ZnodeView | 'deleted'> {
    return this.#changed;
  }

  check(request: ChangeRequest): Transaction {
    if (this.#asker.refusal) throw this.#asker.refusal;
    switch (request.is) {
      case 'create':
        return this.#create(request);
      case 'delete':
        return this.#delete(request);
      case 'setData':
        return this.#setData(request);
      case 'setACL':
        return this.#setAcl(request);
      case 'check':
        return this.#checkVersion(request);
    }
  }

  #create({ opcode, path: asked, data, acl: askedAcl, flags, ttlMs }: ChangeRequest & { is: 'create' }): Transaction {
    if (ttlMs === null) throw Refusal.of('MARSHALLING_ERROR');
    const mode = modeOf(flags);
    if (mode.hasTtl && !this.#hasTtl) throw Refusal.of('UNIMPLEMENTED');
    if (mode.hasTtl ? ttlMs <= 0n || ttlMs > maxTtlMs : ttlMs >= 0n) throw Refusal.of('BAD_ARGUMENTS');
    if (asked === null) throw Refusal.of('MARSHALLING_ERROR');
    const parentPath = parentOfNew(asked);
    const acl = storedAcl(askedAcl, this.#asker.identities);
    const parent = this.#view(parentPath);
    this.#allow(parent, permissions.create);
    const path = mode.isSequential ? asked + String(parent.creates).padStart(10, '0') : asked;
    checkPath(path);
    if (this.#find(path)) throw Refusal.of('NODE_EXISTS');
    if (parent.life.is === 'ephemeral') throw Refusal.of('NO_CHILDREN_FOR_EPHEMERALS');
    const creates = (parent.creates + 1) | 0;
    const life = this.#lifeOf(opcode, mode.isEphemeral, ttlMs);
    this.#changed.set(parentPath, { ...viewOf(parent), creates, childCount: parent.childCount + 1 });
    this.#changed.set(path, { acl, life, version: 0, aclVersion: 0, creates: 0, childCount: 0 });
    return { is: 'create', opcode, path, data, acl, life, creates };
  }

  /**
   * Decided by the opcode, which may contradict the flags: a createContainer with the flags of an ephemeral znode
   * creates a container.
   */
  #lifeOf(opcode: number, isEphemeral: boolean, ttlMs: bigint): Life {
    if (opcode === opcodes.createContainer) return { is: 'container' };
    if (opcode === opcodes.createTTL) return ttlMs > 0n ? { is: 'ttl', ttlMs: Number(ttlMs) } : { is: 'persistent' };
    return isEphemeral ? { is: 'ephemeral', sessionId: this.#asker.sessionId } : { is: 'persistent' };
  }

  #delete({ path, version }: ChangeRequest & { is: 'delete' }): Transaction {
    if (path === null) throw Refusal.of('MARSHALLING_ERROR');
    const parentPath = parentOfDeleted(path);
    const parent = this.#view(parentPath);
    this.#allow(parent, permissions.delete);
    const znode = this.#view(path);
    nextVersion(znode.version, version);
    if (znode.childCount > 0) throw Refusal.of('NOT_EMPTY');
    this.#changed.set(parentPath, { ...viewOf(parent), childCount: parent.childCount - 1 });
    this.#changed.set(path, 'deleted');
    return { is: 'delete', path };
  }

  #setData({ path, data, version: expected }: ChangeRequest & { is: 'setData' }): Transaction {
    checkPath(path);
    const znode = this.#view(path);
    this.#allow(znode, permissions.write);
    const version = nextVersion(znode.version, expected);
    this.#changed.set(path, { ...viewOf(znode), version });
    return { is: 'setData', path, data, version };
  }

  #setAcl({ path, acl: asked, version: expected }: ChangeRequest & { is: 'setACL' }): Transaction {
    checkPath(path);
    const acl = storedAcl(asked, this.#asker.identities);
    const znode = this.#view(path);
    this.#allow(znode, permissions.admin);
    const aclVersion = nextVersion(znode.aclVersion, expected);
    this.#changed.set(path, { ...viewOf(znode), acl, aclVersion });
    return { is: 'setACL', path, acl, version: aclVersion };
  }

  #checkVersion({ path, version }: ChangeRequest & { is: 'check' }): Transaction {
    checkPath(path);
    const znode = this.#view(path);
    this.#allow(znode, permissions.read);
    nextVersion(znode.version, version);
    return { is: 'check' };
  }

  #allow(znode: ZnodeView, permission: number): void {
    checkAcl(znode.acl, permission, this.#asker.identities);
  }

  #view(path: string): ZnodeView {
    const znode = this.#find(path);
    if (!znode) throw Refusal.of('NO_NODE');
    return znode;
  }

  #find(path: string): ZnodeView | undefined {
    const changed = this.#changed.get(path);
    return changed === 'deleted' ? undefined : (changed ?? this.#state.get(path));
  }
}

/** The znodes as the plan's first change will find them. */
export interface PlannedState {
  get(path: string): ZnodeView | undefined;
}

export interface Asker {
  readonly sessionId: bigint;
  readonly identities: readonly Identity[];
  /** The leader refuses the requests of a session that is over, or that has moved to another member. */
  readonly refusal?: Refusal | undefined;
}

const maxTtlMs = 0xff_ffff_ffffn;

interface Mode {
  readonly isEphemeral: boolean;
  readonly isSequential: boolean;
  readonly hasTtl: boolean;
}

function modeOf(flags: number): Mode {
  if (flags < 0 || flags > 6) throw Refusal.of('BAD_ARGUMENTS');
  return {
    isEphemeral: flags === 1 || flags === 3,
    isSequential: flags === 2 || flags === 3 || flags === 6,
    hasTtl: flags > 4,
  };
}

function nextVersion(current: number, expected: number): number {
  if (expected !== -1 && expected !== current) throw Refusal.of('BAD_VERSION');
  return (current + 1) | 0;
}

function viewOf({ acl, life, version, aclVersion, creates, childCount }: ZnodeView): ZnodeView {
  return { acl, life, version, aclVersion, creates, childCount };
}
