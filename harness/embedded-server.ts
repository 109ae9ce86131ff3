// The process that embedded-process.ts starts
import { EmbeddedZooKeeper } from '../src/testing/index.ts';

// The harness configures the real server with the same times.
const zk = await EmbeddedZooKeeper.start({ tickTimeMs: 500, maxSessionTimeoutMs: 60_000 });
process.once('disconnect', () => process.exit());
process.send?.(zk.connectString);
