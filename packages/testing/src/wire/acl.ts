import type { JuteReader, JuteWriter } from './jute.js';
import { providerOf, type Identity } from './identity.js';
import { Refusal } from './refusal.js';

export const permissions = { read: 1, write: 2, create: 4, delete: 8, admin: 16 } as const;

/** An entry as the client sent it: the scheme and the id may be missing. */
export interface AclEntry {
  readonly perms: number;
  readonly scheme: string | null;
  readonly id: string | null;
}

/** An entry that a znode stores. */
export interface Acl extends Identity {
  readonly perms: number;
}

export const openAcl: readonly Acl[] = [{ perms: 31, scheme: 'world', id: 'anyone' }];
export const readOnlyAcl: readonly Acl[] = [{ perms: permissions.read, scheme: 'world', id: 'anyone' }];

export function readAcl(reader: JuteReader): AclEntry[] | null {
  return reader.vector(() => ({ perms: reader.int(), scheme: reader.text(), id: reader.text() }));
}

export function writeAcl(writer: JuteWriter, acl: readonly Acl[]): void {
  writer.int(acl.length);
  for (const { perms, scheme, id } of acl) writer.int(perms).text(scheme).text(id);
}

/** A client without the ADMIN permission must not see the digest of a password. */
export function withoutDigests(acl: readonly Acl[]): readonly Acl[] {
  return acl.map((entry) => (entry.scheme === 'digest' ? { ...entry, id: entry.id.replace(/:.*/, ':x') } : entry));
}

/**
 * The list that a create or a setACL stores: duplicates go, `auth` becomes the identities that the client has proved.
 * Refused with INVALID_ACL.
 */
export function storedAcl(entries: readonly AclEntry[] | null, identities: readonly Identity[]): readonly Acl[] {
  if (isOpen(entries)) return openAcl;
  const distinct = withoutDuplicates(entries ?? []);
  if (distinct.length === 0) throw Refusal.of('INVALID_ACL');
  return distinct.flatMap((entry) => storedEntry(entry, identities));
}

/** Most lists are this one. One shared object for all of them saves memory and time. */
function isOpen(entries: readonly AclEntry[] | null): boolean {
  const [only] = entries ?? [];
  return entries?.length === 1 && only?.perms === 31 && only.scheme === 'world' && only.id === 'anyone';
}

function withoutDuplicates(entries: readonly AclEntry[]): AclEntry[] {
  const distinct: AclEntry[] = [];
  for (const entry of entries) if (!distinct.some((other) => isSame(entry, other))) distinct.push(entry);
  return distinct;
}

/** The Java server compares without a check for null, and fails on a null. */
function isSame(entry: AclEntry, other: AclEntry): boolean {
  if (entry.perms !== other.perms) return false;
  if (entry.scheme === null) throw Refusal.of('MARSHALLING_ERROR');
  if (entry.scheme !== other.scheme) return false;
  if (entry.id === null) throw Refusal.of('MARSHALLING_ERROR');
  return entry.id === other.id;
}

function storedEntry({ perms, scheme, id }: AclEntry, identities: readonly Identity[]): Acl[] {
  if (scheme === null) throw Refusal.of('INVALID_ACL');
  if (scheme === 'auth') return provedEntries(perms, identities);
  const provider = providerOf(scheme);
  if (id === null) throw Refusal.of(scheme === 'world' || provider ? 'MARSHALLING_ERROR' : 'INVALID_ACL');
  if (scheme === 'world' && id === 'anyone') return [{ perms, scheme, id }];
  if (!provider?.isValid(id)) throw Refusal.of('INVALID_ACL');
  return [{ perms, scheme, id }];
}

function provedEntries(perms: number, identities: readonly Identity[]): Acl[] {
  const proved = identities.filter(({ scheme }) => providerOf(scheme)?.isProof === true);
  if (proved.length === 0) throw Refusal.of('INVALID_ACL');
  return proved.map(({ scheme, id }) => ({ perms, scheme, id }));
}

/** Refuses with NO_AUTH unless `allows`. */
export function checkAcl(acl: readonly Acl[], wanted: number, identities: readonly Identity[]): void {
  if (!allows(acl, wanted, identities)) throw Refusal.of('NO_AUTH');
}

/** Returns true if one entry grants one of the permissions to one of the identities. */
export function allows(acl: readonly Acl[], wanted: number, identities: readonly Identity[]): boolean {
  return acl === openAcl || acl.some((entry) => (entry.perms & wanted) !== 0 && isMeant(entry, identities));
}

function isMeant(entry: Acl, identities: readonly Identity[]): boolean {
  if (entry.scheme === 'world' && entry.id === 'anyone') return true;
  const provider = providerOf(entry.scheme);
  return (
    provider !== undefined &&
    identities.some(({ scheme, id }) => scheme === entry.scheme && provider.matches(id, entry.id))
  );
}
