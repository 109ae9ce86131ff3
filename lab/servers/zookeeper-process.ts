import { join } from 'node:path';
import { serverClassPath } from './server-jars.ts';

export const mainClass = {
  standalone: 'org.apache.zookeeper.server.ZooKeeperServerMain',
  quorum: 'org.apache.zookeeper.server.quorum.QuorumPeerMain',
} as const;

/** The settings of the Java virtual machine. `small` starts sooner. `usual` is the JVM that Debian's service starts. */
export type Jvm = 'small' | 'usual';

export interface ZooKeeperProcessOptions {
  /** Holds `zoo.cfg`. */
  readonly directory: string;
  readonly main: keyof typeof mainClass;
  readonly jvm: Jvm;
  readonly javaOptions: readonly string[];
  readonly isOverTls: boolean;
}

const jvmOptions: Readonly<Record<Jvm, readonly string[]>> = {
  small: ['-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xshare:auto'],
  usual: [], // JAVA_OPTS is empty in Debian's /etc/zookeeper/conf/environment
};

export function zooKeeperCommandLine({
  directory,
  main,
  jvm,
  javaOptions,
  isOverTls,
}: ZooKeeperProcessOptions): string[] {
  return [
    'java',
    ...jvmOptions[jvm],
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
    ...javaOptions,
    '-cp',
    serverClassPath({ isOverTls }),
    mainClass[main],
    join(directory, 'zoo.cfg'),
  ];
}
