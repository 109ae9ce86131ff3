import { ensureDebianZooKeeper, nettyJars, zooKeeperJars } from './debian-zookeeper.ts';
import { ensureMavenZooKeeper, mavenJars } from './maven-zookeeper.ts';
import { chosenVersion } from './versions.ts';

/** Installs the server that ZOOKEEPER_VERSION names. Throws an AdviceError if that is not possible. */
export function ensureServerJars(env = process.env): Promise<void> {
  const { version, from } = chosenVersion(env);
  return from === 'debian' ? ensureDebianZooKeeper() : ensureMavenZooKeeper(version);
}

/** The class path of that server, and of Java's own client. */
export function serverClassPath({ isOverTls }: { readonly isOverTls: boolean }): string {
  const { version, from } = chosenVersion();
  // A server that does not need Debian's jars of Netty starts sooner without them.
  const jars = from === 'debian' ? [...(isOverTls ? nettyJars() : []), ...zooKeeperJars] : mavenJars(version);
  return jars.join(':');
}
