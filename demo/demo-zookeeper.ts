import type { FoundZooKeeper } from '../harness/find-zookeeper.ts';
import { givenConnectString } from '../harness/choose-zookeeper.ts';
import { EmbeddedZooKeeper } from '../src/testing/index.ts';

/** Which ZooKeeper the arguments and the environment ask for. */
export type DemoChoice = 'given' | 'embedded' | 'real';

/** @throws RangeError that names an argument which the demonstration does not take */
export function chooseDemoZooKeeper(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): DemoChoice {
  const unknown = args.find((argument) => argument !== '--real');
  if (unknown !== undefined)
    throw new RangeError(`Unknown argument ${unknown}: npm start takes none but --real, as in \`npm start -- --real\``);
  if (givenConnectString(env) !== undefined) return 'given';
  return args.length > 0 ? 'real' : 'embedded';
}

/** An embedded one needs Node and nothing else. */
export async function startDemoZooKeeper(choice: DemoChoice): Promise<FoundZooKeeper> {
  if (choice === 'embedded') {
    const zk = await EmbeddedZooKeeper.start();
    return { connectString: zk.connectString, how: 'an embedded server in this process', stop: () => zk.stop() };
  }
  // Loaded where it is needed: it knows Docker and Debian's packages.
  const { findZooKeeper } = await import('../harness/find-zookeeper.ts');
  return findZooKeeper();
}

/** Names the other servers that the demonstration can run on. */
export function furtherTrials(choice: DemoChoice): string {
  const real = choice === 'embedded' ? ['The same on a real server, from Docker or Debian: npm start -- --real'] : [];
  const three =
    'The same on an ensemble of three: docker-compose up -d; ZOOKEEPER_CONNECT=127.0.0.1:2181,127.0.0.1:2182,127.0.0.1:2183 npm start';
  return [...real, three].join('\n');
}
