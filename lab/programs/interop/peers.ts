import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { installDebianPackages, isCommand } from '../../servers/debian-zookeeper.ts';
import { sharedZooKeeper } from '../../hooks.ts';
import { curatorJars, javaOptions, missingOfCurator } from './curator.ts';
import { Peer } from './peer.ts';

const kazoo = '/usr/lib/python3/dist-packages/kazoo';
// Debian's python3: another python3 that is earlier in the path does not find Debian's kazoo.
const python = '/usr/bin/python3';
const packages = ['libcurator-recipes-java', 'python3-kazoo'];

const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** Installs the peers' packages if they are missing. Throws if that is not possible. */
export async function ensurePeers(): Promise<void> {
  if (missing().length === 0) return;
  await installDebianPackages(isCommand('java') ? packages : [...packages, 'default-jre-headless']);
  if (missing().length > 0)
    throw new Error(`${packages.join(', ')} are installed, but there is no ${missing().join(', ')}`);
}

const starters = { java: startJava, kazoo: startKazoo };

/**
 * Peers that all tests of a suite share. Without names, the packages are installed, and the suite starts its peers
 * itself.
 */
export function peersOfSuite<Name extends keyof typeof starters = never>(
  ...names: readonly Name[]
): Readonly<Record<Name, Peer>> {
  const peers = {} as Record<Name, Peer>;
  before(async function () {
    // Packages may have to be installed.
    this.timeout(300_000);
    await ensurePeers();
    await Promise.all(names.map(async (name) => (peers[name] = await starters[name]())));
  });
  after(() => Promise.all(names.map((name) => peers[name].close())));
  return peers;
}

export interface PeerOptions {
  /** @default 30000 */
  readonly sessionTimeoutMs?: number;
  /** @default that of the shared ZooKeeper */
  readonly connectString?: string;
}

/** Java Curator 5.4.0, run from source against Debian's jars. */
export function startJava(options?: PeerOptions): Promise<Peer> {
  return start('Java', ['java', ...javaOptions, '-cp', curatorJars.join(':'), here('JavaPeer.java')], options);
}

/** kazoo 2.8.0. */
export function startKazoo(options?: PeerOptions): Promise<Peer> {
  return start('kazoo', [python, here('kazoo_peer.py')], options);
}

/** This library in another process. */
export function startNode(options?: PeerOptions): Promise<Peer> {
  return start('Node', [process.execPath, '--import=tsx', here('node-process.ts')], options);
}

async function start(
  name: string,
  command: readonly string[],
  { sessionTimeoutMs = 30_000, connectString }: PeerOptions = {},
): Promise<Peer> {
  await ensurePeers();
  const server = connectString ?? (await sharedZooKeeper()).connectString;
  return Peer.start(name, [...command, server, String(sessionTimeoutMs)]);
}

function missing(): string[] {
  return [...missingOfCurator(), ...[kazoo, python].filter((file) => !existsSync(file))];
}
