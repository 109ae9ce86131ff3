import { nameOf, type Host } from '../../../../../src/zookeeper/wire/connect-string.js';
import { commandErrorText } from '../own-words.js';
import { fourLetterWord } from './four-letter-word.js';
import { fail, ok, unknown, warn, type Finding } from './finding.js';

/** The answers of one server about itself. Undefined for an answer that it does not give. */
export interface ServerFacts {
  /** `host:port` */
  readonly name: string;
  readonly error: unknown;
  /** False if the server says that it has no leader. */
  readonly isServing: boolean;
  readonly version: string | undefined;
  readonly mode: string | undefined;
  readonly maxClientCnxns: number | undefined;
}

/** Asks a server by the four-letter words `srvr` and `conf`, as far as it allows them. */
export async function serverFacts(host: Host, how: Parameters<typeof fourLetterWord>[2]): Promise<ServerFacts> {
  const name = nameOf(host);
  try {
    const srvr = await fourLetterWord(host, 'srvr', how);
    const conf = await fourLetterWord(host, 'conf', how).catch(() => '');
    return factsIn(name, srvr, conf);
  } catch (error) {
    return { name, error, isServing: false, version: undefined, mode: undefined, maxClientCnxns: undefined };
  }
}

/** The facts in the answers to `srvr` and `conf`. */
export function factsIn(name: string, srvr: string, conf: string): ServerFacts {
  const mode = /^Mode: (\S+)/m.exec(srvr)?.[1];
  const most = /^maxClientCnxns=(-?\d+)/m.exec(conf)?.[1];
  return {
    name,
    error: undefined,
    // With `readonlymode.enabled`, a server without a leader serves old data to clients that accept them.
    isServing: !srvr.includes('not currently serving requests') && mode !== 'read-only',
    version: /^Zookeeper version: (\d+\.\d+\.\d+)/im.exec(srvr)?.[1],
    mode,
    maxClientCnxns: most === undefined ? undefined : Number(most),
  };
}

/** The findings from the servers' own answers. */
export function judgeServers(servers: readonly ServerFacts[]): Finding[] {
  const answering = servers.filter(({ error }) => error === undefined);
  const together =
    answering.length > 0
      ? [judgeVersions(answering), judgeConnections(answering)]
      : ['versions', 'maxClientCnxns'].map((subject) => unknown(subject, 'no server answers', 'start the servers'));
  return [...servers.map(judgeServer), ...together];
}

function judgeServer({ name, error, isServing, version, mode }: ServerFacts): Finding {
  const subject = `server ${name}`;
  if (error !== undefined)
    return fail(
      subject,
      commandErrorText(error),
      'start it, open its port, or take it out of the connect string. A port for TLS needs --tls or --tls-ca',
      'unreachable',
    );
  if (!isServing)
    return fail(subject, 'not serving', 'it has no leader: look at its log, and at the other members', 'unreachable');
  if (version === undefined || mode === undefined)
    return unknown(
      subject,
      'reachable; it does not answer srvr',
      'add srvr and conf to 4lw.commands.whitelist to let this check see more',
    );
  const text = `${version}, ${mode}`;
  const loss = mode === 'standalone' ? undefined : losses.find(({ versions }) => versions.test(version));
  if (loss)
    return warn(
      subject,
      text,
      `this version can lose committed transactions (${loss.issue}): use ${loss.mended} or later`,
    );
  return ok(subject, text);
}

function judgeVersions(servers: readonly ServerFacts[]): Finding {
  const versions = [...new Set(servers.flatMap(({ version }) => version ?? []))];
  versions.sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  const [oldest] = versions;
  if (oldest === undefined) return unknown('versions', 'no server says its version', 'allow the four-letter word srvr');
  const text = versions.join(', ');
  const [major = 0, minor = 0] = oldest.split('.').map(Number);
  if (major < 3 || (major === 3 && minor < 5))
    return fail('versions', text, 'locks need ZooKeeper 3.5 or later: update the servers');
  if (major === 3 && minor < 6)
    return warn('versions', text, 'from 3.6 on, one watch shows all locks. Here, watch and console need one for each');
  if (versions.length > 1) return warn('versions', `${text}, mixed`, 'finish the update of the servers');
  return ok('versions', text);
}

/** The servers count the connections of each client address, so the limit is for a whole host, or a NAT. */
function judgeConnections(servers: readonly ServerFacts[]): Finding {
  const limits = servers.flatMap(({ maxClientCnxns }) => maxClientCnxns ?? []);
  if (limits.length === 0)
    return unknown('maxClientCnxns', 'no server shows its limit', 'allow the four-letter word conf');
  const least = Math.min(...limits.map((limit) => (limit === 0 ? Infinity : limit)));
  if (least === Infinity) return ok('maxClientCnxns', 'no limit');
  if (least >= plenty) return ok('maxClientCnxns', `${least} connections for each client address`);
  return warn(
    'maxClientCnxns',
    `${least} connections for each client address`,
    `each process needs one, so more than ${least} processes behind one address are refused: raise it in zoo.cfg`,
  );
}

/** Members of an ensemble lose transactions when they synchronize. A single server never does. */
const losses = [
  { versions: /^3\.8\.[0-4]$/, issue: 'ZOOKEEPER-4785', mended: '3.8.5' },
  { versions: /^3\.9\.[01]$/, issue: 'ZOOKEEPER-4785', mended: '3.9.4' },
  { versions: /^3\.9\.3$/, issue: 'ZOOKEEPER-4925', mended: '3.9.4' },
];

const plenty = 500;
