/** A ZooKeeper that the tests run against. */
export interface ServerVersion {
  readonly version: string;
  /** Debian's package, or `org.apache.zookeeper:zookeeper` from Maven. */
  readonly from: 'debian' | 'maven';
  /** The `version` with which the embedded server imitates it; undefined if it imitates another one. */
  readonly embedded?: '3.8' | '3.9';
  /** True if only a client that may read a znode may ask whether it exists (ZOOKEEPER-2590). @default false */
  readonly existsNeedsRead?: boolean;
  readonly lacks?: readonly Ability[];
  /** The only version of TLS that it accepts by default, unless it lacks `ssl.protocol`. @default 'TLSv1.2' */
  readonly tls?: 'TLSv1.3';
  /** True if it sends no event of a znode to a client that may not read the znode (CVE-2024-23944). @default false */
  readonly withholds?: boolean;
}

/** An ability that tests need, and an old server does not have. */
export type Ability =
  | 'addWatch'
  | 'client.portUnification'
  | 'clients without a certificate'
  /** The digests that the servers of an ensemble compare. */
  | 'digest.enabled'
  /** And `enforce.auth.schemes`. */
  | 'enforceQuota'
  | 'PKCS12'
  /** Without it, a server that has a write under way answers nobody until the write is committed (ZOOKEEPER-2024). */
  | 'reads beside writes'
  | 'refusals of SASL'
  | 'ssl.protocol'
  | 'throttledOpWaitTime';

/** All servers of `npm run test:versions`: of each line the oldest release and, where lines are maintained, the newest. */
export const serverVersions: readonly ServerVersion[] = [
  {
    version: '3.5.5',
    from: 'maven',
    lacks: [
      'addWatch',
      'client.portUnification',
      'clients without a certificate',
      'digest.enabled',
      'enforceQuota',
      'PKCS12',
      'reads beside writes',
      'refusals of SASL',
      'ssl.protocol',
      'throttledOpWaitTime',
    ],
  },
  { version: '3.6.0', from: 'maven', lacks: ['enforceQuota', 'throttledOpWaitTime'] },
  { version: '3.7.0', from: 'maven' },
  // With Debian's fixes: it withholds events as 3.8.4 does, which also asks for the right to read before an answer to exists.
  { version: '3.8.0', from: 'debian', embedded: '3.8', withholds: true },
  { version: '3.8.6', from: 'maven', existsNeedsRead: true, withholds: true },
  { version: '3.9.0', from: 'maven' },
  { version: '3.9.5', from: 'maven', embedded: '3.9', existsNeedsRead: true, tls: 'TLSv1.3', withholds: true },
];

/** The server of the gate. */
export const newestVersion = '3.9.5';

/** The server that ZOOKEEPER_VERSION names, also one that is not in the table. @default Debian's */
export function chosenVersion(
  { ZOOKEEPER_VERSION: version = '3.8.0' }: NodeJS.ProcessEnv = process.env,
): ServerVersion {
  if (!/^3\.\d+\.\d+(-\w+)?$/.test(version))
    throw new RangeError(`Expected ZOOKEEPER_VERSION to be a version like ${newestVersion}, got ${version}`);
  return serverVersions.find((each) => each.version === version) ?? { version, from: 'maven' };
}

/** False if the chosen server lacks it. */
export function has(ability: Ability): boolean {
  return chosenVersion().lacks?.includes(ability) !== true;
}

/** The option of the embedded server that imitates the chosen server. */
export function imitation(): { version: '3.8' | '3.9' } {
  const { version, embedded } = chosenVersion();
  if (!embedded) throw new Error(`The embedded server does not imitate ZooKeeper ${version}`);
  return { version: embedded };
}
