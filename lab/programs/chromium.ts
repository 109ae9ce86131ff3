import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';
import { installDebianPackages } from '../servers/debian-zookeeper.ts';

const executable = '/usr/bin/chromium';

/** Installs Debian's chromium if it is missing. Throws an AdviceError if that is not possible. */
export async function ensureChromium(): Promise<void> {
  if (!existsSync(executable)) await installDebianPackages(['chromium']);
}

/** Starts chromium without a window. Root may start it only without its sandbox: it loads pages of this machine only. */
export async function startChromium(): Promise<Browser> {
  await ensureChromium();
  return chromium.launch({ executablePath: executable, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}
