import { existsSync } from 'node:fs';
import { installDebianPackages, isCommand } from '../../servers/debian-zookeeper.ts';

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

/** Java Curator 5.4.0 and its dependencies, in the folder of Debian's packages. */
export const curatorJars: readonly string[] = names.map((name) => `/usr/share/java/${name}.jar`);

/** Options for one of several Javas on a small machine: they start quickly and stay small. */
export const javaOptions: readonly string[] = [
  '-Xmx128m',
  '-XX:TieredStopAtLevel=1',
  '-XX:+UseSerialGC',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=off',
];

/** Installs Curator if it is missing. Throws if that is not possible. */
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
