import type { FoundZooKeeper } from '../lab/servers/find-zookeeper.ts';
import { givenConnectString } from '../lab/servers/choose-zookeeper.ts';
import { EmbeddedZooKeeper } from '../packages/testing/src/index.ts';

/** The ZooKeeper that the arguments and the environment ask for. */
export type DemoChoice = 'given' | 'embedded' | 'real';

/** @throws RangeError for an argument that the demonstration does not accept */
export function chooseDemoZooKeeper(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): DemoChoice {
  const unknown = args.find((argument) => argument !== '--real');
  if (unknown !== undefined)
    throw new RangeError(`Unknown argument ${unknown}: npm start accepts only --real, as in \`npm start -- --real\``);
  if (givenConnectString(env) !== undefined) return 'given';
  return args.length > 0 ? 'real' : 'embedded';
}

/** An embedded server needs Node and nothing else. */
export async function startDemoZooKeeper(choice: DemoChoice): Promise<FoundZooKeeper> {
  if (choice === 'embedded') {
    const zk = await EmbeddedZooKeeper.start();
    return { connectString: zk.connectString, how: 'an embedded server in this process', stop: () => zk.stop() };
  }
  // Imported only if needed, because it loads the code for Docker and for Debian's packages.
  const { findZooKeeper } = await import('../lab/servers/find-zookeeper.ts');
  return findZooKeeper();
}

/** The other servers on which the demonstration can run. */
export function furtherTrials(choice: DemoChoice): string {
  const real = choice === 'embedded' ? ['The same on a real server, from Docker or Debian: npm start -- --real'] : [];
  const three =
    'The same on an ensemble of three: docker-compose up -d; ZOOKEEPER_CONNECT=127.0.0.1:2181,127.0.0.1:2182,127.0.0.1:2183 npm start';
  const watch =
    'To watch the locks meanwhile, in a browser: npm run build; npx zklock console --servers 127.0.0.1:2181';
  return [...real, three, watch].join('\n');
}
