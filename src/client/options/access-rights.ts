import { createHash } from 'node:crypto';
import { isIP, isIPv4 } from 'node:net';
import { askApplication } from '../../support/no-context.js';
import { expected, expectedKind, isPlainObject } from '../../support/validate.js';
import type { Credential } from '../../zookeeper/connection/connection-options.js';
import { openAcl, type AclEntry } from '../../zookeeper/wire/operations.js';
import { validatePath } from '../../zookeeper/wire/path.js';

/**
 * Access rights for the znodes that locks create: one ACL for all znodes, or a function of the path. The path is below
 * the chroot, as every path of this library. The function is called with `/` if znodes of the chroot itself are
 * missing. An ACL is a list, or a name: `open` lets everybody do everything, and `creator-only` lets only the accounts
 * of this client (of the options `auth` and `sasl`, and of the certificate in `tls`).
 *
 * An ACL without the permissions that the lock itself needs is refused: this client must be allowed to create (4),
 * delete (8) and read (1) on the znode of a lock, and to create on the znodes above it. A lock with weights needs
 * write (2) on its own znode as well, and a sticky lock on the znodes below it: give 15.
 *
 * @example
 * const acl: AclProvider = (path) => (path.startsWith('/locks/payments') ? 'creator-only' : readableByAll);
 */
export type AclProvider = Acl | ((path: string) => Acl);

/** A list of access rights, or its name: see {@link AclProvider}. */
export type Acl = readonly AclEntry[] | 'open' | 'creator-only';

/** The ACL of a new znode, by its path below the chroot. `/` stands for all znodes of the chroot itself. */
export type AclFor = (path: string) => readonly AclEntry[];

/**
 * @throws TypeError for credentials that no server can check. The message never shows the value, because it is a secret
 */
export function checkAuth(auth: unknown): readonly Credential[] {
  const entries: unknown[] = Array.isArray(auth) ? auth : [undefined];
  return Array.from(entries, (entry, index) => {
    const { scheme, credentials }: Partial<Credential> = isPlainObject(entry) ? entry : {};
    if (typeof scheme !== 'string' || scheme === '' || typeof credentials !== 'string') {
      const form =
        "an array of { scheme: string, credentials: string }, such as { scheme: 'digest', credentials: 'user:secret' }";
      const where = Array.isArray(auth) ? ` at index ${index}` : '';
      throw new TypeError(`${expectedKind('auth', form, where === '' ? auth : entry)}${where}`);
    }
    if (scheme === 'digest' && !/^[^:]+:/.test(credentials)) {
      throw new TypeError(
        "Expected the credentials of scheme 'digest' in `auth` to be 'user:password', got a text without a user name and a colon",
      );
    }
    return { scheme, credentials };
  });
}

/** The identities that a client has besides its credentials. */
export interface OtherIdentities {
  /** The user name of the option `sasl`. */
  readonly saslUser?: string | undefined;
  /** A mechanism of SASL without a user name, such as GSSAPI. Only the servers know the id that they make of the login. */
  readonly saslMechanism?: string | undefined;
  /** True if the client may show a certificate to the servers. */
  readonly mayHaveCertificate?: boolean;
}

export interface CheckedAcl {
  readonly aclFor: AclFor;
  /** The same for the own znode of `lock`, and for the znodes above it. */
  readonly aclForParents: (path: string, lock: string) => readonly AclEntry[];
  /**
   * Checks the ACL of a znode into which a lock of the kind `what` writes.
   *
   * @throws TypeError if the ACL does not let this client write
   */
  readonly requireWrite: (path: string, what: WritingLock) => void;
  /**
   * The entries of the ACL of one znode that a lock does not need.
   *
   * @throws TypeError for a list that the servers would not accept
   */
  readonly entriesOf: (acl: Acl) => readonly AclEntry[];
  /** All schemes of the ACLs so far, for the text of an error. */
  readonly aclSchemes: ReadonlySet<string>;
}

/** Checks the option `acl` as soon as its entries are known: a list at once, the result of a function at each call. */
export function checkedAcl(acl: AclProvider, auth: readonly Credential[], others: OtherIdentities = {}): CheckedAcl {
  const own: Identities = { auth, ...others };
  const aclSchemes = new Set<string>();
  const checked = (option: string, given: Acl): { option: string; entries: readonly AclEntry[] } => {
    const entries = checkAcl(option, given, own);
    for (const { scheme } of entries) aclSchemes.add(scheme);
    return { option, entries };
  };
  let ask: (path: string) => ReturnType<typeof checked>;
  if (typeof acl === 'function')
    ask = (path) => checked(`acl(${JSON.stringify(validatePath(path))})`, askApplication(acl, path));
  else {
    const ofAll = checked('acl', acl);
    refuseLockout('acl', ofAll.entries, own, neededBelowLock);
    ask = () => ofAll;
  }
  return {
    aclSchemes,
    entriesOf: (given) => checkAcl('acl', given, own),
    aclFor: (path) => ask(path).entries,
    aclForParents: (path, lock) => {
      const { option, entries } = ask(path);
      refuseLockout(option, entries, own, path === lock ? neededBelowLock : neededAboveLock);
      return entries;
    },
    requireWrite: (path, what) => {
      const { option, entries } = ask(path);
      refuseWithoutWrite(option, entries, own, what);
    },
  };
}

/** The kinds of locks that write into znodes which exist already. */
export type WritingLock = 'a lock with weights' | 'a sticky lock';

/** The account of a client on the servers, for the text of an error: scheme and user name, never a password. */
export function accountText(auth: readonly Credential[], others: OtherIdentities = {}): string {
  // The public part of the credentials is known only for `digest`.
  const names = auth.map(({ scheme, credentials }) =>
    scheme === 'digest' ? `${scheme} ${JSON.stringify(credentials.slice(0, credentials.indexOf(':')))}` : scheme,
  );
  if (others.saslUser !== undefined) names.push(`sasl ${JSON.stringify(others.saslUser)}`);
  if (others.saslMechanism !== undefined) names.push(`sasl by ${others.saslMechanism}`);
  if (others.mayHaveCertificate) names.push('x509 of its certificate');
  if (names.length === 0) return 'a client without the option `auth`';
  return `the account ${names.join(' and ')}`;
}

/** The permissions that a client needs on the lock's own znode: to list the queue, to join it, and to leave it. */
const neededBelowLock = { read: 1, create: 4, delete: 8 };

/** The permissions that a client needs on the znodes above the lock's own znode. */
const neededAboveLock = { create: 4 };

function checkAcl(option: string, given: unknown, own: Identities): readonly AclEntry[] {
  const acl = isAclName(given) ? aclNames[given] : given;
  const accepted =
    "a non-empty array of { permissions: 1 to 31, scheme: string, id: string }, 'open' or 'creator-only'";
  if (!Array.isArray(acl) || acl.length === 0) throw new TypeError(expectedKind(option, accepted, acl));
  return Array.from(acl as unknown[], (entry, index) => {
    const { permissions, scheme, id }: Partial<AclEntry> = isPlainObject(entry) ? entry : {};
    if (typeof scheme !== 'string' || typeof id !== 'string')
      throw new TypeError(expectedKind(option, accepted, entry));
    if (!Number.isInteger(permissions) || Number(permissions) < 1 || Number(permissions) > 31)
      throw new TypeError(expected(`${option}[${index}].permissions`, permissionsText, permissions));
    const fault = faultOf(scheme, id, own);
    if (fault !== undefined)
      throw new TypeError(`Expected each entry of \`${option}\` to be one that the servers accept: ${fault}`);
    return { permissions: Number(permissions), scheme, id };
  });
}

interface Identities extends OtherIdentities {
  readonly auth: readonly Credential[];
}

const aclNames = {
  open: openAcl,
  'creator-only': [{ permissions: 31, scheme: 'auth', id: '' }],
} satisfies Record<string, readonly AclEntry[]>;

function isAclName(value: unknown): value is keyof typeof aclNames {
  return typeof value === 'string' && Object.hasOwn(aclNames, value);
}

const permissionsText =
  'a whole number from 1 to 31, the sum of read (1), write (2), create (4), delete (8) and admin (16)';

/**
 * The reason why the servers would answer INVALID_ACL, or would store an account that cannot exist. The message does
 * not show an id, because it may be a password by mistake.
 */
function faultOf(scheme: string, id: string, own: Identities): string | undefined {
  switch (scheme) {
    case 'world':
      return id === 'anyone' ? undefined : `the id of scheme 'world' is 'anyone', got another id`;
    case 'auth':
      return own.auth.length > 0 ||
        own.saslUser !== undefined ||
        own.saslMechanism !== undefined ||
        own.mayHaveCertificate
        ? undefined
        : "scheme 'auth' stands for the accounts of the option `auth`, of `sasl` and of the certificate in `tls`, and none is given. Give `auth`, or another scheme";
    case 'digest':
      return isDigestId(id)
        ? undefined
        : `the id of scheme 'digest' is 'user:' and the base64 of sha1('user:password'), got something else. For this client's own account use scheme 'auth' with id ''`;
    case 'ip':
      return isAddressRange(id)
        ? undefined
        : `the id of scheme 'ip' is an IP address, or an address with a prefix length, such as '10.0.0.0/8', got something else`;
    default:
      return undefined;
  }
}

/** The hash is SHA-1, or a longer one that the servers may be configured for. */
function isDigestId(id: string): boolean {
  return /^[^:]+:[A-Za-z0-9+/]{27,}={0,2}$/.test(id);
}

function isAddressRange(id: string): boolean {
  const [address = '', bits, ...more] = id.split('/');
  if (isIP(address) === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128));
}

/**
 * Refuses an ACL that its own client cannot use. A parent with such an ACL would exist permanently, and would lock out
 * every client.
 */
function refuseLockout(
  option: string,
  entries: readonly AclEntry[],
  own: Identities,
  needed: Readonly<Record<string, number>>,
): void {
  const granted = grantedBy(entries, own);
  const missing = Object.entries(needed).filter(([, bit]) => (granted & bit) === 0);
  if (missing.length === 0) return;
  const names = missing.map(([name, bit]) => `${name} (${bit})`).join(', ');
  throw new TypeError(
    `Expected \`${option}\` to let this client use the locks that it creates, got an ACL that does not give ${names} to ${accountText(own.auth, own)}: ` +
      'it could acquire no lock there. Give at least 13 (read, create and delete) on the znode of a lock, and 4 on those above it, to each account that shares the lock. Locks with weights and sticky locks need 15 (write as well)',
  );
}

/** Without the permission to write, a lock with weights is never granted, and a sticky lock never shows that it is idle. */
function refuseWithoutWrite(option: string, entries: readonly AclEntry[], own: Identities, what: WritingLock): void {
  if ((grantedBy(entries, own) & permissionToWrite) !== 0) return;
  throw new TypeError(
    `Expected \`${option}\` to let this client use ${what}, got an ACL that does not give write (2) to ${accountText(own.auth, own)}: ` +
      `${whyItWrites[what]}. Give at least 15 (read, write, create and delete) to each account that shares the lock`,
  );
}

const permissionToWrite = 2;

const whyItWrites: Readonly<Record<WritingLock, string>> = {
  'a lock with weights': 'the holder writes its name into the znode of the lock',
  'a sticky lock': 'the client writes into its own znode that the lock is idle, so that other clients can get it',
};

/** The permissions that the entries give, or may give, to this client. */
function grantedBy(entries: readonly AclEntry[], own: Identities): number {
  return entries.filter((entry) => mayBe(entry, own)).reduce((sum, { permissions }) => sum | permissions, 0);
}

/**
 * True if an entry gives its permissions to this client, or may give them. Addresses, and schemes that only the servers
 * know, cannot be checked here.
 */
function mayBe({ scheme, id }: AclEntry, { auth, saslUser, saslMechanism, mayHaveCertificate }: Identities): boolean {
  if (auth.some((own) => own.credentials.startsWith('super:'))) return true;
  if (scheme === 'sasl') return saslMechanism !== undefined || (saslUser !== undefined && mayBeUser(saslUser, id));
  if (scheme === 'x509') return mayHaveCertificate === true;
  if (scheme !== 'digest') return true;
  return auth.some((own) => own.scheme !== 'digest' || mayBeDigestOf(own.credentials, id));
}

/** The servers may shorten a user name in the form of Kerberos, `name/host@REALM`. */
function mayBeUser(user: string, id: string): boolean {
  return user === id || /[/@]/.test(user);
}

/**
 * True if `id` may be the servers' form of a `digest` account. The servers may be configured for another hash than
 * SHA-1.
 */
function mayBeDigestOf(credentials: string, id: string): boolean {
  const user = credentials.slice(0, credentials.indexOf(':') + 1);
  const hash = createHash('sha1').update(credentials).digest('base64');
  return id === `${user}${hash}` || (id.startsWith(user) && id.length !== user.length + hash.length);
}
