// npm run suite -- tls [test files]: a part of the suites with TLS between clients and servers, first in the virtual world,
// then in the real one. With ZK_TLS=1, every other suite, chaos included, runs over TLS too.
import { bootstrap } from './bootstrap.mjs';
import { close, resultsOf } from './mocha.mjs';

const behaviour = [
  'mutex',
  'hand-over',
  'requests',
  'lost-replies',
  'session-loss',
  'read-write',
  'weights/order',
  'connection/addresses',
  'connection/attach',
  'connection/reconnect',
  'connection/silence',
].map((name) => `test/behaviour/${name}.test.ts`);
const real = [
  'test/behaviour/mutex.test.ts',
  'test/behaviour/requests.test.ts',
  'test/behaviour/lost-replies.test.ts',
  'test/behaviour/connection/reconnect.test.ts',
  'test/ensemble/follower-cut-off.test.ts',
  'test/ensemble/follower-killed.test.ts',
  'test/ensemble/leader-deposed.test.ts',
];
const args = process.argv.slice(2);

bootstrap();
process.env.ZK_TLS = '1';
const isNamed = args.some((arg) => arg.endsWith('.ts'));
const results = isNamed ? [] : await resultsOf(process.execPath, args, behaviour);
process.env.TEST_WORLD = 'real';
process.exitCode = close([...results, ...(await resultsOf(process.execPath, args, real))]);
