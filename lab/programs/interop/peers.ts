import { fileURLToPath } from 'node:url';
import { sharedZooKeeper } from '../../hooks.ts';
import { skipWithout } from '../../skip-without.ts';
import { curatorVersion, ensureCurator, javaOptions } from './curator.ts';
import { ensureGo } from './go.ts';
import { ensureKazoo, kazooVersion } from './kazoo.ts';
import { Peer } from './peer.ts';

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

const installers = { java: ensureCurator, kazoo: ensureKazoo, go: ensureGo };
const starters = { java: startJava, kazoo: startKazoo, go: startGo };

type PeerName = keyof typeof starters;

/** Installs the peers if they are missing. */
export async function ensurePeers(...names: readonly PeerName[]): Promise<void> {
  for (const name of names) await installers[name]();
}

/**
 * Peers that all tests of a suite share. Without names, Java Curator is installed, and the suite starts its peers
 * itself. The suite is skipped if a peer cannot be had.
 */
export function peersOfSuite<Name extends PeerName = never>(...names: readonly Name[]): Readonly<Record<Name, Peer>> {
  const peers = {} as Record<Name, Peer>;
  before(async function () {
    // Something may have to be installed.
    this.timeout(300_000);
    await skipWithout(this, () => (names.length === 0 ? ensurePeers('java') : ensurePeers(...names)));
    await Promise.all(names.map(async (name) => (peers[name] = await starters[name]())));
  });
  after(() => Promise.all(Object.values<Peer>(peers).map((peer) => peer.close())));
  return peers;
}

export interface PeerOptions {
  /** @default 30000 */
  readonly sessionTimeoutMs?: number;
  /** @default that of the shared ZooKeeper */
  readonly connectString?: string;
}

/** Java Curator, run from source. */
export async function startJava(options?: PeerOptions): Promise<Peer> {
  const jars = await ensureCurator();
  const command = ['java', ...javaOptions, '-cp', jars.join(':'), here('JavaPeer.java')];
  return start('Java', command, options, curatorVersion);
}

export async function startKazoo(options?: PeerOptions): Promise<Peer> {
  return start('kazoo', [await ensureKazoo(), here('kazoo_peer.py')], options, kazooVersion);
}

/** go-zookeeper's Lock. */
export async function startGo(options?: PeerOptions): Promise<Peer> {
  return start('Go', [await ensureGo()], options);
}

/** This library in another process. */
export function startNode(options?: PeerOptions): Promise<Peer> {
  return start('Node', [process.execPath, '--import=tsx', here('node-process.ts')], options);
}

async function start(
  name: string,
  command: readonly string[],
  { sessionTimeoutMs = 30_000, connectString }: PeerOptions = {},
  version = 'debian',
): Promise<Peer> {
  const server = connectString ?? (await sharedZooKeeper()).connectString;
  const peer = await Peer.start(name, [...command, server, String(sessionTimeoutMs)]);
  if (version === 'debian' || version === peer.version) return peer;
  await peer.close();
  throw new Error(`Expected ${name} ${version}, got ${peer.version}`);
}
