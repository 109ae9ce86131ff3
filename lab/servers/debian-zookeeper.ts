import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { flockAptGet } from './apt-get.ts';
import { adviseServer, chooseLocal, givenConnectString, zooKeeperImage, type LocalFacts } from './choose-zookeeper.ts';
import { AdviceError } from './docker/advice.ts';
import { dockerHasImage, engineAnswers } from './docker/engine-api.ts';

const names = [
  'zookeeper',
  'zookeeper-jute',
  'slf4j-api',
  'slf4j-simple',
  'commons-cli',
  'snappy-java',
  'metrics-core',
  'netty-all',
  'guava',
];

/** The jars that Debian's `zookeeper` package and its dependencies install. */
export const zooKeeperJars: readonly string[] = names.map((name) => `/usr/share/java/${name}.jar`);

/** Debian's jars of Netty, which serves TLS. `netty-all.jar` contains no class. */
export function nettyJars(): string[] {
  const folder = '/usr/share/java';
  return readdirSync(folder)
    .filter((name) => /^netty-(?!.*\d+\.\d+).*\.jar$/.test(name))
    .map((name) => join(folder, name));
}

let ensured: Promise<void> | undefined;

/** Installs Debian's packages if they are missing. Throws an AdviceError if that is not possible. */
export function ensureDebianZooKeeper(): Promise<void> {
  ensured ??= ensure();
  return ensured;
}

export function localFacts(): LocalFacts {
  return {
    jarsPresent: zooKeeperJars.every((jar) => existsSync(jar)),
    javaPresent: isCommand('java'),
    isDebian: isCommand('apt-get'),
    isRoot: process.getuid?.() === 0,
  };
}

async function ensure(): Promise<void> {
  const choice = chooseLocal(localFacts());
  if (choice.use === 'jars') return;
  if (choice.use === 'nothing') throw new AdviceError(await advice());
  await aptInstall(choice.packages);
  const { jarsPresent, javaPresent } = localFacts();
  if (!jarsPresent || !javaPresent)
    throw new Error(
      `${choice.packages.join(' and ')} are installed, but the jars or java are missing: ${zooKeeperJars.join(', ')}`,
    );
}

async function advice(): Promise<string> {
  const { env } = process;
  const hasShared = givenConnectString(env) !== undefined || (await dockerHasImage(zooKeeperImage(env)));
  return adviseServer({ env, ...localFacts(), dockerAnswers: await engineAnswers(), hasShared });
}

/** Installs packages with apt-get. Throws an AdviceError if that is not possible. */
export async function installDebianPackages(packages: readonly string[]): Promise<void> {
  const { isDebian, isRoot } = localFacts();
  if (!isDebian || !isRoot)
    throw new AdviceError(`Debian's ${packages.join(', ')} are missing, and only root can install them, with apt-get`);
  await aptInstall(packages);
}

async function aptInstall(packages: readonly string[]): Promise<void> {
  console.error(`Installing ${packages.join(' and ')} by apt-get`);
  for (const args of flockAptGet(packages)) await run('flock', args);
}

/** Runs a command that installs something. Rejects with an AdviceError if it fails. */
export async function run(command: string, args: readonly string[], limitMs?: number): Promise<void> {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    timeout: limitMs,
  });
  let log = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (log += text));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0)
    throw new AdviceError(`${command} ${args.join(' ')} failed with exit code ${code ?? 'none'}:\n${endOf(log)}`);
}

function endOf(log: string): string {
  return log.trimEnd().split('\n').slice(-10).join('\n');
}

export function isCommand(name: string): boolean {
  return (process.env['PATH'] ?? '').split(delimiter).some((directory) => existsSync(join(directory, name)));
}
