import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { whenProcessEnds } from './process-end.ts';

/**
 * Certificates for the tests of TLS. `server`, `expired` and `other-name` are for servers, `client` (alice) and
 * `mallory` for clients. `foreign-client` is signed by an authority that the servers do not trust.
 */
export type KeyName = 'server' | 'expired' | 'other-name' | 'client' | 'mallory' | 'foreign-client';

/** The names of the clients as ZooKeeper's scheme `x509` shows them. */
export const x509Ids = { client: 'CN=alice', mallory: 'CN=mallory' } as const;

interface Subject {
  readonly authority: 'authority' | 'foreign-authority';
  readonly name: string;
  readonly alsoFor: string;
  readonly days?: number;
}

const subjects: Readonly<Record<KeyName, Subject>> = {
  server: {
    authority: 'authority',
    name: 'zookeeper',
    alsoFor: 'DNS:localhost,DNS:zookeeper.test,IP:127.0.0.1,IP:::1',
  },
  expired: { authority: 'authority', name: 'zookeeper', alsoFor: 'DNS:localhost,IP:127.0.0.1', days: -1 },
  'other-name': { authority: 'authority', name: 'other', alsoFor: 'DNS:other.test' },
  client: { authority: 'authority', name: 'alice', alsoFor: 'DNS:alice' },
  mallory: { authority: 'authority', name: 'mallory', alsoFor: 'DNS:mallory' },
  'foreign-client': { authority: 'foreign-authority', name: 'alice', alsoFor: 'DNS:alice' },
};

/** The folder of the keys. They are made at the first call in a run, and shared with the processes that it starts. */
export function keyFolder(): string {
  const known = process.env['ZK_TLS_KEYS'];
  if (known !== undefined && existsSync(join(known, 'complete'))) return known;
  const folder = mkdtempSync(join(tmpdir(), 'zookeeper-keys-'));
  whenProcessEnds(() => rmSync(folder, { recursive: true, force: true }));
  makeKeys(folder);
  process.env['ZK_TLS_KEYS'] = folder;
  return folder;
}

export function keyFile(name: KeyName | 'authority' | 'foreign-authority', kind: 'pem' | 'key' | 'store'): string {
  return join(keyFolder(), `${name}.${kind}`);
}

/** The options of TLS for a client that trusts the servers, with a certificate or without one. */
export function clientTls(name?: KeyName): { ca: Buffer; cert?: Buffer; key?: Buffer } {
  const ca = readFileSync(keyFile('authority', 'pem'));
  return name === undefined
    ? { ca }
    : { ca, cert: readFileSync(keyFile(name, 'pem')), key: readFileSync(keyFile(name, 'key')) };
}

/** Makes the authorities and all certificates in a folder. */
export function makeKeys(folder: string): void {
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  for (const name of ['authority', 'foreign-authority'])
    openssl(
      'req',
      '-x509',
      ...newKey,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.pem`,
      '-days',
      '30',
      '-subj',
      `/CN=${name}`,
    );
  for (const [name, { authority, name: subject, alsoFor, days = 30 }] of Object.entries(subjects)) {
    openssl('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${subject}`);
    writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${alsoFor}\n`);
    const by = ['-CA', `${authority}.pem`, '-CAkey', `${authority}.key`];
    openssl(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      ...by,
      '-days',
      String(days),
      '-extfile',
      `${name}.ext`,
      '-out',
      `${name}.pem`,
    );
    // A key store that every server knows; 3.5.5 has no PKCS12.
    const parts = ['key', 'pem'].map((kind) => readFileSync(join(folder, `${name}.${kind}`), 'utf8'));
    writeFileSync(join(folder, `${name}.store`), parts.join(''));
  }
  writeFileSync(join(folder, 'complete'), '');
}
