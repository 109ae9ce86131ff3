import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { zooKeeperImage } from '../choose-zookeeper.ts';
import { localFacts } from '../debian-zookeeper.ts';
import { AdviceError } from './advice.ts';
import { chooseImage } from './choose.ts';
import { command } from './command.ts';
import { ensureCommands } from './debian.ts';
import { dockerHasImage } from './engine-api.ts';

const script = fileURLToPath(new URL('build-image', import.meta.url));
const entrypoint = fileURLToPath(new URL('entrypoint', import.meta.url));
const buildLimitMs = 8 * 60_000;

/** The name of a ZooKeeper image that the engine has. On Debian as root, the image is built if the engine has none. */
export async function ensureImage(): Promise<string> {
  const candidates = [zooKeeperImage(process.env), debianImage()];
  const present = new Set<string>();
  for (const image of candidates) if (await dockerHasImage(image)) present.add(image);
  const choice = chooseImage({ env: process.env, present, debianImage: debianImage(), ...localFacts() });
  if (choice.use === 'nothing') throw new AdviceError(choice.advice);
  if (choice.use === 'build') await build(choice.image);
  return choice.image;
}

/** The name contains a hash of the image's sources: a change makes another image, so that no test uses an old one. */
function debianImage(): string {
  const hash = createHash('sha256').update(readFileSync(script)).update(readFileSync(entrypoint));
  return `zookeeper-debian:3.8-${hash.digest('hex').slice(0, 8)}`;
}

async function build(image: string): Promise<void> {
  await ensureCommands('docker', 'debootstrap');
  console.error(`Building ${image} of Debian's packages`);
  const folder = mkdtempSync(join(tmpdir(), 'zookeeper-image-'));
  try {
    await command(script, [image, folder], { limitMs: buildLimitMs });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
