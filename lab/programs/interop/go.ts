import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installDebianPackages, isCommand } from '../../servers/debian-zookeeper.ts';
import { fetched } from '../../servers/fetched.ts';

const source = fileURLToPath(new URL('go-peer', import.meta.url));

let ensured: Promise<string> | undefined;

/**
 * The program of `go-peer`, built against the go-zookeeper of its go.mod. Go is installed if it is missing. Rejects with
 * an AdviceError if that is not possible.
 */
export function ensureGo(): Promise<string> {
  ensured ??= build();
  return ensured;
}

async function build(): Promise<string> {
  if (!isCommand('go')) await installDebianPackages(['golang-go']);
  const hash = createHash('sha256');
  for (const file of readdirSync(source).sort()) hash.update(readFileSync(join(source, file)));
  const folder = await fetched(`go-peer-${hash.digest('hex').slice(0, 12)}`, (place) => [
    ['env', '-C', source, 'go', 'build', '-o', join(place, 'go-peer'), '.'],
  ]);
  return join(folder, 'go-peer');
}
