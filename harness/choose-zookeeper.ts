export interface LocalFacts {
  readonly jarsPresent: boolean;
  readonly javaPresent: boolean;
  /** Debian, Ubuntu, or another system with apt-get. */
  readonly isDebian: boolean;
  readonly isRoot: boolean;
}

export interface Facts extends LocalFacts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly dockerHasImage: boolean;
}

export type LocalChoice = { readonly use: 'jars' } | { readonly use: 'install'; readonly packages: readonly string[] } | { readonly use: 'nothing' };

export type Choice =
  | { readonly use: 'environment'; readonly connectString: string }
  | { readonly use: 'docker'; readonly image: string }
  | LocalChoice;

/** Which ZooKeeper the tests run against: the one that is given, else a container, else a child process. */
export function chooseZooKeeper(facts: Facts): Choice {
  const given = givenConnectString(facts.env);
  if (given !== undefined) return { use: 'environment', connectString: given };
  if (facts.dockerHasImage) return { use: 'docker', image: zooKeeperImage(facts.env) };
  return chooseLocal(facts);
}

/** The same for tests that kill their server, or need it to be configured, and thus always start their own. */
export function chooseLocal({ jarsPresent, javaPresent, isDebian, isRoot }: LocalFacts): LocalChoice {
  if (jarsPresent && javaPresent) return { use: 'jars' };
  if (!isDebian || !isRoot) return { use: 'nothing' };
  return { use: 'install', packages: javaPresent ? ['zookeeper'] : ['zookeeper', 'default-jre-headless'] };
}

export function givenConnectString(env: Facts['env']): string | undefined {
  const given = env['ZOOKEEPER_CONNECT']?.trim();
  return given === '' ? undefined : given;
}

export function zooKeeperImage(env: Facts['env']): string {
  return env['ZOOKEEPER_IMAGE'] ?? 'zookeeper:3.9';
}
