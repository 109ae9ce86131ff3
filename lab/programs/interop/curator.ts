import { existsSync } from 'node:fs';
import { installDebianPackages, isCommand } from '../../servers/debian-zookeeper.ts';
import { ensureJars, jarsOf } from '../../servers/maven-jars.ts';

/** `debian`, or a version that Maven serves. The gate runs the newest, and the night runs Debian's besides. */
export const curatorVersion = process.env['CURATOR_VERSION'] ?? '5.9.0';

/** From 5.5, a writer that takes the read lock is a reader at its own place in the queue (CURATOR-621). */
export const downgradesAtItsPlace = curatorVersion !== 'debian' && !/^(?:4|5\.[0-4])\./.test(curatorVersion);

const debianNames = [
  'curator-client',
  'curator-framework',
  'curator-recipes',
  'zookeeper',
  'zookeeper-jute',
  'guava',
  'slf4j-api',
  'slf4j-simple',
  'snappy-java',
  'metrics-core',
  'netty-all',
];
const debianJars = debianNames.map((name) => `/usr/share/java/${name}.jar`);

/** Options for one of several Javas on a small machine: they start quickly and stay small. */
export const javaOptions: readonly string[] = [
  '-Xmx128m',
  '-XX:TieredStopAtLevel=1',
  '-XX:+UseSerialGC',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=off',
];

let ensured: Promise<readonly string[]> | undefined;

/**
 * The jars of Java Curator and of its dependencies, which are installed if they are missing. Rejects with an AdviceError
 * if that is not possible.
 */
export function ensureCurator(): Promise<readonly string[]> {
  ensured ??= curatorVersion === 'debian' ? curatorOfDebian() : curatorOfMaven(curatorVersion);
  return ensured;
}

async function curatorOfDebian(): Promise<readonly string[]> {
  const missing = (): string[] => [
    ...debianJars.filter((jar) => !existsSync(jar)),
    ...(isCommand('java') ? [] : ['java']),
  ];
  if (missing().length > 0)
    await installDebianPackages(['libcurator-recipes-java', ...(isCommand('java') ? [] : ['default-jre-headless'])]);
  if (missing().length > 0)
    throw new Error(`libcurator-recipes-java is installed, but there is no ${missing().join(', ')}`);
  return debianJars;
}

async function curatorOfMaven(version: string): Promise<readonly string[]> {
  // Debian's maven brings a java.
  if (!isCommand('mvn')) await installDebianPackages(['maven']);
  const name = `curator-${version}`;
  await ensureJars(name, [`org.apache.curator:curator-recipes:${version}`, 'org.slf4j:slf4j-simple:1.7.36']);
  return jarsOf(name);
}

/** The jars of Curator's own tests, with those of Curator. Rejects with an AdviceError if they cannot be had. */
export async function ensureCuratorTests(): Promise<readonly string[]> {
  if (!isCommand('mvn')) await installDebianPackages(['maven']);
  const name = `curator-tests-${curatorVersion}`;
  await ensureJars(name, [
    `org.apache.curator:curator-recipes:${curatorVersion}`,
    `org.apache.curator:curator-recipes:${curatorVersion}:tests`,
    `org.apache.curator:curator-framework:${curatorVersion}:tests`,
    `org.apache.curator:curator-test:${curatorVersion}`,
    'org.junit.platform:junit-platform-console-standalone:1.9.3',
    'org.assertj:assertj-core:3.24.2',
    'org.awaitility:awaitility:4.2.0',
    'org.slf4j:slf4j-simple:1.7.36',
  ]);
  // The launcher has JUnit inside. Curator brings an older one.
  return jarsOf(name).filter((jar) => !/junit-(?!platform-console)|opentest4j/.test(jar));
}
