import { existsSync } from 'node:fs';
import { isCommand } from './debian-zookeeper.ts';
import { AdviceError } from './docker/advice.ts';
import { placeOf } from './fetched.ts';
import { ensureJars, jarsOf } from './maven-jars.ts';

/** The jars of a ZooKeeper from Maven, once `ensureMavenZooKeeper` has resolved. */
export function mavenJars(version: string): string[] {
  return jarsOf(nameOf(version));
}

/**
 * Brings the jars of a ZooKeeper. It needs three more, which its own pom leaves to its distribution. The loggers of its
 * distribution print much without a file of settings, so all servers log by slf4j-simple. Throws an AdviceError that says
 * why it cannot.
 */
export async function ensureMavenZooKeeper(version: string): Promise<void> {
  if (existsSync(placeOf(nameOf(version)))) return;
  for (const command of ['mvn', 'java'])
    if (!isCommand(command)) throw new AdviceError(`ZooKeeper ${version} cannot be had: ${command} is not installed`);
  await ensureJars(
    nameOf(version),
    [
      `org.apache.zookeeper:zookeeper:${version}`,
      'io.dropwizard.metrics:metrics-core:4.1.12.1',
      'org.xerial.snappy:snappy-java:1.1.10.5',
      'commons-cli:commons-cli:1.5.0',
      'org.slf4j:slf4j-simple:1.7.36',
    ],
    ['ch.qos.logback', 'log4j', 'org.slf4j'],
  );
}

function nameOf(version: string): string {
  return `zookeeper-${version}`;
}
