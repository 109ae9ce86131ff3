// npm run suite -- kerberos [mocha's arguments, or test files]: tests with a KDC and with servers that require Kerberos.
// The npm package `kerberos` is no dependency of this project: it is installed into a folder of its own.
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bootstrap, root } from './bootstrap.mjs';
import { runMocha } from './mocha.mjs';
import { run } from './run.mjs';

const version = '7.0.0';
const folder = join(tmpdir(), `zookeeper-fair-lock-kerberos-${version}-${process.versions.modules}`);

bootstrap();
const { register } = await import('tsx/esm/api');
register();
const [{ installDebianPackages }, { kerberosPackages }, { AdviceError }] = await Promise.all([
  import('../lab/servers/debian-zookeeper.ts'),
  import('../lab/servers/kerberos-realm.ts'),
  import('../lab/servers/docker/advice.ts'),
]);

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof AdviceError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

async function main() {
  if (!hasTools()) await installDebianPackages(kerberosPackages);
  if (!existsSync(folder)) {
    const code = await installKerberos();
    if (code !== 0) return code;
  }
  process.env.KERBEROS_PACKAGE = join(folder, 'node_modules/kerberos/lib/index.js');
  const hook = pathToFileURL(join(root, 'scripts/kerberos/register.mjs')).href;
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${hook}`;
  return runMocha(process.execPath, process.argv.slice(2), ['test/kerberos/**/*.test.ts']);
}

function hasTools() {
  const tools = ['/usr/sbin/krb5kdc', '/usr/sbin/kadmin.local', '/usr/bin/kinit', '/usr/include/gssapi/gssapi.h'];
  return [...tools, '/usr/bin/g++', '/usr/bin/make', '/usr/bin/python3'].every((tool) => existsSync(tool));
}

/** Resolves with the exit code of npm. Another run may install the package at the same time. */
async function installKerberos() {
  console.log(`Installing kerberos ${version} into ${folder}`);
  const place = mkdtempSync(`${folder}.`);
  try {
    const project = { private: true, dependencies: { kerberos: version }, allowScripts: { kerberos: true } };
    writeFileSync(join(place, 'package.json'), JSON.stringify(project));
    const code = await run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: place });
    if (code === 0) rename(place);
    return code;
  } finally {
    rmSync(place, { recursive: true, force: true });
  }
}

function rename(place) {
  try {
    renameSync(place, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}
