import { adviseServer, chooseLocal, chooseZooKeeper, givenConnectString, zooKeeperImage } from './choose-zookeeper.ts';
import { localFacts } from './debian-zookeeper.ts';
import { dockerHasImage, startContainer } from './docker-zookeeper.ts';
import { chosenVersion } from './versions.ts';
import { startRealServer } from './zookeeper-server.ts';

export interface FoundZooKeeper {
  readonly connectString: string;
  /** A description for the log, like `a container of zookeeper:3.9`. */
  readonly how: string;
  /** Stops the server, if it was started here. */
  stop(): Promise<void>;
}

/**
 * The ZooKeeper of the tests: ZOOKEEPER_CONNECT, else a Docker container unless ZOOKEEPER_VERSION asks for a server, else
 * a Java process.
 */
export async function findZooKeeper(): Promise<FoundZooKeeper> {
  const { env } = process;
  const mayBeDocker = givenConnectString(env) === undefined && env['ZOOKEEPER_VERSION'] === undefined;
  const hasImage = mayBeDocker && (await dockerHasImage(zooKeeperImage(env)));
  const choice = chooseZooKeeper({ env, dockerHasImage: hasImage, ...localFacts() });
  switch (choice.use) {
    case 'environment':
      return { connectString: choice.connectString, how: 'ZOOKEEPER_CONNECT', stop: () => Promise.resolve() };
    case 'docker':
      return { ...(await startContainer(choice.image)), how: `a container of ${choice.image}` };
    case 'jars':
    case 'install':
    case 'nothing': {
      const server = await startRealServer();
      return {
        connectString: server.connectString,
        how: `a local server of ZooKeeper ${chosenVersion().version}, process ${server.pid}`,
        stop: () => server.stop(),
      };
    }
  }
}

/**
 * Says what this machine lacks for a real ZooKeeper that tests can stop and start, as a sentence; undefined if it lacks
 * nothing.
 */
export function lackOfZooKeeper(): string | undefined {
  const facts = localFacts();
  // A server that somebody asked for by its version is no reason to skip tests.
  if (chosenVersion().from === 'maven') return undefined;
  if (chooseLocal(facts).use !== 'nothing') return undefined;
  return adviseServer({ env: process.env, ...facts, dockerAnswers: false, hasShared: true }).split('. ', 1)[0];
}
