// The process that embedded-process.ts starts
import { EmbeddedZooKeeper, type EmbeddedZooKeeperOptions } from '../../src/testing/index.ts';

const zk = await EmbeddedZooKeeper.start(JSON.parse(process.argv[2] ?? '{}') as EmbeddedZooKeeperOptions);
process.once('disconnect', () => process.exit());
process.send?.(zk.port);
