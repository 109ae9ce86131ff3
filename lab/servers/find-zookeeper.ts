import { adviseServer, chooseZooKeeper, givenConnectString, zooKeeperImage, type Choice } from './choose-zookeeper.ts';
import { localFacts } from './debian-zookeeper.ts';
import { dockerHasImage, startContainer } from './docker-zookeeper.ts';
import { startRealServer } from './zookeeper-server.ts';

export interface FoundZooKeeper {
  readonly connectString: string;
  /** A description for the log, like `a container of zookeeper:3.9`. */
  readonly how: string;
  /** Stops the server, if it was started here. */
  stop(): Promise<void>;
}

/** The ZooKeeper of the tests: ZOOKEEPER_CONNECT, else a Docker container, else a Java process of Debian's package. */
export async function findZooKeeper(): Promise<FoundZooKeeper> {
  const choice = await choose();
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
        how: `a local server, process ${server.pid}`,
        stop: () => server.stop(),
      };
    }
  }
}

/** Says what this machine lacks for a real ZooKeeper, as a sentence; undefined if it lacks nothing. */
export async function lackOfZooKeeper(): Promise<string | undefined> {
  if ((await choose()).use !== 'nothing') return undefined;
  const advice = adviseServer({ env: process.env, ...localFacts(), dockerAnswers: false, hasShared: false });
  return advice.split('. ', 1)[0];
}

async function choose(): Promise<Choice> {
  const { env } = process;
  const asked = givenConnectString(env) === undefined && (await dockerHasImage(zooKeeperImage(env)));
  return chooseZooKeeper({ env, dockerHasImage: asked, ...localFacts() });
}
