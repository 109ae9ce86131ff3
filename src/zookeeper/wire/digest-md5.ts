import { printableJson } from '../../support/printable.js';
import { createHash } from 'node:crypto';

/**
 * Answers the server's challenge of SASL's mechanism DIGEST-MD5 (RFC 2831), as ZooKeeper's servers use it. The password
 * is not sent.
 *
 * @param clientNonce a text that was never used before
 * @throws RangeError if the challenge is not one of DIGEST-MD5, or needs what this client does not have
 */
export function answerChallenge(challenge: Buffer, account: SaslAccount, clientNonce: string): DigestAnswer {
  const { realm, nonce, charset } = readChallenge(challenge);
  const encode = charset === 'utf-8' ? latin1OrUtf8 : latin1;
  const secret = [
    md5(Buffer.concat([encode(account.username), colon, encode(realm), colon, encode(account.password)])),
    Buffer.from(`:${nonce}:${clientNonce}`, 'latin1'),
  ];
  const key = md5(Buffer.concat(secret)).toString('hex');
  const digestOf = (method: string): string => {
    const target = hexOf(`${method}:${digestUri}`);
    return hexOf(`${key}:${nonce}:${firstUse}:${clientNonce}:auth:${target}`);
  };
  const fields = [
    ...(charset === 'utf-8' ? ['charset=utf-8'] : []),
    `username=${quoted(account.username)}`,
    `realm=${quoted(realm)}`,
    `nonce=${quoted(nonce)}`,
    `nc=${firstUse}`,
    `cnonce=${quoted(clientNonce)}`,
    `digest-uri=${quoted(digestUri)}`,
    'qop=auth',
    `response=${digestOf('AUTHENTICATE')}`,
  ];
  return {
    token: Buffer.from(fields.join(','), charset === 'utf-8' ? 'utf8' : 'latin1'),
    confirmation: digestOf(''),
  };
}

/** True if the server's last message proves that the server knows the password too. */
export function isConfirmed(message: Buffer, { confirmation }: DigestAnswer): boolean {
  return readFields(message).get('rspauth') === confirmation;
}

/** Node.js cannot compute MD5 if its OpenSSL is restricted, as in FIPS mode. */
export function knowsMd5(): boolean {
  try {
    md5(Buffer.alloc(0));
    return true;
  } catch {
    return false;
  }
}

/** An account of the client on servers that authenticate by SASL. */
export interface SaslAccount {
  /** The name of the account, as the servers know it. */
  readonly username: string;
  /** The password of the account. No log, error or event shows it. */
  readonly password: string;
}

export interface DigestAnswer {
  /** The message for the server. */
  readonly token: Buffer;
  /** The `rspauth` with which the server answers. */
  readonly confirmation: string;
}

/** The servers use this name for every host, so the digest does not depend on the host. */
const digestUri = 'zookeeper/zk-sasl-md5';

/** The nonce count: each challenge is answered once. */
const firstUse = '00000001';

const colon = Buffer.from(':');

function readChallenge(challenge: Buffer): { realm: string; nonce: string; charset: string | undefined } {
  const fields = readFields(challenge);
  const nonce = fields.get('nonce');
  if (nonce === undefined || fields.get('algorithm')?.toLowerCase() !== 'md5-sess')
    throw new RangeError('The SASL challenge is not one of DIGEST-MD5');
  const qops = (fields.get('qop') ?? 'auth').split(',').map((each) => each.trim().toLowerCase());
  if (!qops.includes('auth'))
    throw new RangeError(`The SASL challenge asks for ${printableJson(qops.join())}, but only "auth" is supported`);
  return { realm: fields.get('realm') ?? '', nonce, charset: fields.get('charset')?.toLowerCase() };
}

/** Reads `name=value` and `name="value"`, with commas between them. Of several fields of one name, the first counts. */
function readFields(message: Buffer): Map<string, string> {
  const fields = new Map<string, string>();
  if (message.length > longestMessage) throw new RangeError(`A SASL message of ${message.length} bytes is too long`);
  const pattern = /[\s,]*([A-Za-z0-9-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))/gsy;
  for (const [, name = '', inQuotes, plain = ''] of message.toString('utf8').matchAll(pattern)) {
    const key = name.toLowerCase();
    if (!fields.has(key)) fields.set(key, inQuotes === undefined ? plain : inQuotes.replace(/\\(.)/gs, '$1'));
  }
  return fields;
}

/** RFC 2831 limits a challenge to 2048 bytes, and a response to 4096. */
const longestMessage = 4_096;

function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** RFC 2831: a text is hashed as ISO 8859-1 if it can be, also with charset=utf-8. */
function latin1OrUtf8(text: string): Buffer {
  return isLatin1(text) ? Buffer.from(text, 'latin1') : Buffer.from(text, 'utf8');
}

function latin1(text: string): Buffer {
  if (!isLatin1(text))
    throw new RangeError('The server does not accept UTF-8 in SASL: use a user name and a password of ISO 8859-1');
  return Buffer.from(text, 'latin1');
}

function isLatin1(text: string): boolean {
  return /^[\0-\xff]*$/.test(text);
}

function hexOf(text: string): string {
  return md5(Buffer.from(text, 'latin1')).toString('hex');
}

function md5(bytes: Buffer): Buffer {
  return createHash('md5').update(bytes).digest();
}
