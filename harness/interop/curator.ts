import { existsSync } from 'node:fs';
import { installDebianPackages, isCommand } from '../debian-zookeeper.ts';

const names = [
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

/** Java Curator 5.4.0 and what it needs, where Debian's packages put them. */
export const curatorJars: readonly string[] = names.map((name) => `/usr/share/java/${name}.jar`);

/** For a Java that is one of several on a small machine: it starts quickly, and stays small. */
export const javaOptions: readonly string[] = [
  '-Xmx128m',
  '-XX:TieredStopAtLevel=1',
  '-XX:+UseSerialGC',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=off',
];

/** Installs it where it is missing. Throws where that cannot be done. */
export async function ensureCurator(): Promise<void> {
  if (missingOfCurator().length === 0) return;
  await installDebianPackages(['libcurator-recipes-java', ...(isCommand('java') ? [] : ['default-jre-headless'])]);
  if (missingOfCurator().length > 0)
    throw new Error(`libcurator-recipes-java is installed, but there is no ${missingOfCurator().join(', ')}`);
}

export function missingOfCurator(): string[] {
  const files = curatorJars.filter((jar) => !existsSync(jar));
  return isCommand('java') ? files : [...files, 'java'];
}
