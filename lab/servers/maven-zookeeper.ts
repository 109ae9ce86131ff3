import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { isCommand } from './debian-zookeeper.ts';
import { AdviceError } from './docker/advice.ts';

/** The jars of a ZooKeeper from Maven, once `ensureMavenZooKeeper` has resolved. */
export function mavenJars(version: string): string[] {
  const folder = folderOf(version);
  return readdirSync(folder).map((name) => join(folder, name));
}

export function hasMavenJars(version: string): boolean {
  return existsSync(folderOf(version));
}

/** Copies the jars of a ZooKeeper into the user's cache, by `mvn`. Throws an AdviceError that says why it cannot. */
export async function ensureMavenZooKeeper(version: string): Promise<void> {
  if (hasMavenJars(version)) return;
  for (const command of ['mvn', 'java'])
    if (!isCommand(command)) throw new AdviceError(`ZooKeeper ${version} cannot be had: ${command} is not installed`);
  const folder = folderOf(version);
  mkdirSync(join(folder, '..'), { recursive: true });
  const scratch = mkdtempSync(`${folder}-`);
  try {
    writeFileSync(join(scratch, 'pom.xml'), pomOf(version));
    await promisify(execFile)('mvn', ['-q', '-B', 'dependency:copy-dependencies', '-DoutputDirectory=jars'], {
      cwd: scratch,
      timeout: 5 * 60_000,
    });
    // Another process may have been faster.
    if (!hasMavenJars(version)) renameSync(join(scratch, 'jars'), folder);
  } catch (error) {
    throw new AdviceError(`ZooKeeper ${version} cannot be had from Maven: ${reasonOf(error)}`);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function folderOf(version: string): string {
  const { XDG_CACHE_HOME: cache = join(homedir(), '.cache') } = process.env;
  return join(cache, 'zookeeper-fair-lock', 'servers', version);
}

/**
 * The server with its dependencies. It needs three more, which its own pom leaves to its distribution. The loggers of its
 * distribution print much without a file of settings, so all servers log by slf4j-simple.
 */
function pomOf(version: string): string {
  const loggers = ['ch.qos.logback', 'log4j', 'org.slf4j'].map(
    (group) => `<exclusion><groupId>${group}</groupId><artifactId>*</artifactId></exclusion>`,
  );
  return `<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>lab</groupId>
  <artifactId>server</artifactId>
  <version>1</version>
  <dependencies>
    ${dependency('org.apache.zookeeper:zookeeper', version, `<exclusions>${loggers.join('')}</exclusions>`)}
    ${dependency('io.dropwizard.metrics:metrics-core', '4.1.12.1')}
    ${dependency('org.xerial.snappy:snappy-java', '1.1.10.5')}
    ${dependency('commons-cli:commons-cli', '1.5.0')}
    ${dependency('org.slf4j:slf4j-simple', '1.7.36')}
  </dependencies>
</project>
`;
}

function dependency(name: string, version: string, rest = ''): string {
  const [group, artifact] = name.split(':');
  return `<dependency><groupId>${group}</groupId><artifactId>${artifact}</artifactId><version>${version}</version>${rest}</dependency>`;
}

/** The first line in which `mvn` says what is missing. */
function reasonOf(error: unknown): string {
  const { stdout = '', message } = error as Error & { stdout?: string };
  return /\[ERROR\] (.*)/.exec(stdout)?.[1] ?? message;
}
