import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { curatorVersion } from '../lab/programs/interop/curator.ts';
import type { PeerName } from './results.ts';

/** The versions of the peers other than this library, and of their servers. */
export function otherVersions(peers: readonly PeerName[]): Record<string, string> {
  return {
    ...(peers.includes('curator') && { 'Java Curator': curatorVersion }),
    ...(peers.includes('redlock always') && {
      Redis: programVersion('redis-server'),
      redlock: packageVersion('redlock'),
      ioredis: packageVersion('ioredis'),
    }),
    ...(peers.includes('etcd3') && { etcd: programVersion('etcd'), etcd3: packageVersion('etcd3') }),
  };
}

function programVersion(program: string): string {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' });
  return /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? 'unknown';
}

function packageVersion(name: string): string {
  const file = fileURLToPath(new URL(`../node_modules/${name}/package.json`, import.meta.url));
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
