import { createHash } from 'node:crypto';
import { javaHash } from './java-hash-set.js';

export interface Identity {
  readonly scheme: string;
  readonly id: string;
}

/** The rules of one scheme. `world` has no provider, because no client authenticates as the world. */
interface Provider {
  /** True if the identity was proved. Then `auth` in an ACL stands for it. */
  readonly isProof: boolean;
  isValid(id: string): boolean;
  matches(id: string, inAcl: string): boolean;
  userOf(id: string): string;
}

const providers: Readonly<Record<string, Provider>> = {
  digest: {
    isProof: true,
    isValid: (id) => javaSplit(id, ':').length === 2,
    matches: (id, inAcl) => id === inAcl,
    userOf: (id) => id.split(':')[0] ?? '',
  },
  ip: { isProof: false, isValid: (id) => rangeOf(id) !== undefined, matches: isInRange, userOf: (id) => id },
};

export function providerOf(scheme: string): Provider | undefined {
  return Object.hasOwn(providers, scheme) ? providers[scheme] : undefined;
}

/** The identity that a client gets for `user:password`. A wrong password is another identity. */
export function digestIdentity(credentials: Buffer): Identity {
  const text = credentials.toString('utf8');
  const digest = createHash('sha1').update(text).digest('base64');
  return { scheme: 'digest', id: `${text.split(':')[0] ?? ''}:${digest}` };
}

/**
 * The identities of a connection. The Java server keeps them in a hash map of 16 buckets, and lists them in the order
 * of that map.
 */
export class Identities {
  #list: readonly Identity[] = [];

  get list(): readonly Identity[] {
    return this.#list;
  }

  add(identity: Identity): void {
    if (this.#list.some(({ scheme, id }) => scheme === identity.scheme && id === identity.id)) return;
    this.#list = [...this.#list, identity].sort((a, b) => bucketOf(a) - bucketOf(b));
  }
}

function bucketOf({ scheme, id }: Identity): number {
  const hash = (Math.imul(37, (Math.imul(37, 17) + javaHash(scheme)) | 0) + javaHash(id)) | 0;
  return (hash ^ (hash >>> 16)) & 15;
}

/** Java's split drops the empty parts at the end. */
function javaSplit(text: string, separator: string): string[] {
  const parts = text.split(separator);
  while (parts.length > 1 && parts.at(-1) === '') parts.pop();
  return parts;
}

function isInRange(id: string, inAcl: string): boolean {
  const range = rangeOf(inAcl);
  const address = addressOf(id);
  if (range === undefined || address === undefined) return false;
  const mask = range.bits === 0 ? 0 : (-1 << (32 - range.bits)) >>> 0;
  return ((range.address & mask) ^ (address & mask)) === 0;
}

function rangeOf(text: string): { address: number; bits: number } | undefined {
  const slash = text.indexOf('/');
  const address = addressOf(slash === -1 ? text : text.slice(0, slash));
  const bits = slash === -1 ? 32 : integer(text.slice(slash + 1), 32);
  return address === undefined || bits === undefined ? undefined : { address, bits };
}

function addressOf(text: string): number | undefined {
  const parts = text.split('.').map((part) => integer(part, 255));
  if (parts.length !== 4) return undefined;
  return parts.reduce(
    (address, part) => (address === undefined || part === undefined ? undefined : address * 256 + part),
    0,
  );
}

/** Reads a number as `Integer.parseInt` does, up to a limit. */
function integer(text: string, max: number): number | undefined {
  const value = /^[+-]?\d+$/.test(text) ? Number(text) : -1;
  return value >= 0 && value <= max ? Math.abs(value) : undefined;
}
