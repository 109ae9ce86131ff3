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

export type LocalChoice =
  | { readonly use: 'jars' }
  | { readonly use: 'install'; readonly packages: readonly string[] }
  | { readonly use: 'nothing' };

export type Choice =
  | { readonly use: 'environment'; readonly connectString: string }
  | { readonly use: 'docker'; readonly image: string }
  | LocalChoice;

/** Chooses the ZooKeeper of the tests: the one that is given, else a container, else a child process. */
export function chooseZooKeeper(facts: Facts): Choice {
  const given = givenConnectString(facts.env);
  if (given !== undefined) return { use: 'environment', connectString: given };
  if (facts.dockerHasImage) return { use: 'docker', image: zooKeeperImage(facts.env) };
  return chooseLocal(facts);
}

/** Chooses for tests that stop or configure their server, and thus always start their own. */
export function chooseLocal({ jarsPresent, javaPresent, isDebian, isRoot }: LocalFacts): LocalChoice {
  if (jarsPresent && javaPresent) return { use: 'jars' };
  if (!isDebian || !isRoot) return { use: 'nothing' };
  return { use: 'install', packages: javaPresent ? ['zookeeper'] : ['zookeeper', 'default-jre-headless'] };
}

/**
 * The advice for a machine on which no server can be started: what is missing, and the command that helps.
 *
 * @param facts.hasShared true if another ZooKeeper serves the tests that need no server of their own
 */
export function adviseServer({
  env,
  isDebian,
  dockerAnswers,
  hasShared,
}: Pick<Facts, 'env' | 'isDebian'> & { readonly dockerAnswers: boolean; readonly hasShared: boolean }): string {
  const packages = "Debian's packages zookeeper and default-jre-headless are not installed.";
  const image = zooKeeperImage(env);
  const lack = hasShared
    ? `No ZooKeeper server that tests can stop and start: ${packages}`
    : `No ZooKeeper server: ZOOKEEPER_CONNECT is not set, no Docker engine has the image ${image}, and ${packages}`;
  if (isDebian)
    return `${lack} Only root can install them:\n\n  sudo apt-get update && sudo apt-get install -y zookeeper default-jre-headless\n`;
  if (hasShared) return `${lack} Run the tests as root on Debian or Ubuntu.\n`;
  if (dockerAnswers) return `${lack} The Docker engine can get the image:\n\n  docker pull ${image}\n`;
  return `${lack} Start a ZooKeeper 3.5 or later, and say where it is:\n\n  export ZOOKEEPER_CONNECT=127.0.0.1:2181\n`;
}

export function givenConnectString(env: Facts['env']): string | undefined {
  const given = env['ZOOKEEPER_CONNECT']?.trim();
  return given === '' ? undefined : given;
}

export function zooKeeperImage(env: Facts['env']): string {
  return env['ZOOKEEPER_IMAGE'] ?? 'zookeeper:3.9';
}
