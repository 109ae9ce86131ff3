// npm run test:tls [-- test files]: a part of the suites that takes about three minutes, with TLS between clients and
// servers. With ZK_TLS=1, every other suite, chaos included, runs over TLS too.
import { bootstrap } from './bootstrap.mjs';
import { runMocha } from './mocha.mjs';

const some = [
  'test/behaviour/mutex.test.ts',
  'test/behaviour/hand-over.test.ts',
  'test/behaviour/requests.test.ts',
  'test/behaviour/lost-replies.test.ts',
  'test/behaviour/session-loss.test.ts',
  'test/behaviour/read-write.test.ts',
  'test/behaviour/weights/order.test.ts',
  'test/behaviour/connection/addresses.test.ts',
  'test/behaviour/connection/attach.test.ts',
  'test/behaviour/connection/reconnect.test.ts',
  'test/behaviour/connection/silence.test.ts',
  'test/ensemble/follower-cut-off.test.ts',
  'test/ensemble/follower-killed.test.ts',
  'test/ensemble/leader-deposed.test.ts',
];

bootstrap();
process.env.ZK_TLS = '1';
process.env.TEST_WORLD = 'real';
process.exitCode = await runMocha(process.execPath, process.argv.slice(2), some);
