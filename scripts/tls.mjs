// npm run test:tls [-- test files]: a part of the suites that takes about three minutes, with TLS between clients and
// servers. With ZK_TLS=1, every other suite, chaos included, runs over TLS too.
import { bootstrap } from './bootstrap.mjs';
import { runMocha } from './mocha.mjs';

const some = [
  'test/integration/mutex.test.ts',
  'test/integration/hand-over.test.ts',
  'test/integration/requests.test.ts',
  'test/integration/lost-replies.test.ts',
  'test/integration/session-loss.test.ts',
  'test/integration/read-write.test.ts',
  'test/integration/weights/order.test.ts',
  'test/integration/connection/addresses.test.ts',
  'test/integration/connection/attach.test.ts',
  'test/integration/connection/reconnect.test.ts',
  'test/integration/connection/silence.test.ts',
  'test/ensemble/follower-cut-off.test.ts',
  'test/ensemble/follower-killed.test.ts',
  'test/ensemble/leader-deposed.test.ts',
];

bootstrap();
process.env.ZK_TLS = '1';
process.exitCode = await runMocha(process.execPath, process.argv.slice(2), some);
