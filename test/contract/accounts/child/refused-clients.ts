import '../../../../lab/servers/over-tls.ts';
import { answered } from '../../../../lab/proxy/frame-matches.ts';
import { aborted, rejection } from '../../../../lab/until.ts';
import { withToken } from '../../../../lab/proxy/zk-frame.ts';
import { startProxy } from '../../../../lab/proxy/zk-proxy.ts';
import { InterProcessMutex, LockClient, LockError, type LockClientOptions } from '../../../../src/index.ts';
import { EmbeddedZooKeeper } from '../../../../packages/testing/src/index.ts';
import { stringsOfErrors } from './strings-of-errors.ts';

const [, , secret = ''] = process.argv;
/** The errors, and the objects that the logger got: an application may keep them. */
const kept: unknown[] = [];
const options: LockClientOptions = { logger: { warn: (details) => void kept.push(details) } };
const credentials = `orders:${secret}`;
const auth = [{ scheme: 'digest', credentials }];
const sasl = { mechanism: 'DIGEST-MD5', username: 'orders', password: secret } as const;

await using zk = await EmbeddedZooKeeper.start();
await using proxy = await startProxy(zk.port);
const refuse = async (account: LockClientOptions, connectionTimeoutMs = 15_000): Promise<void> => {
  const connecting = LockClient.connect(proxy.connectString, { ...options, ...account, connectionTimeoutMs });
  kept.push(await rejection(connecting));
};

// No server, an unknown scheme, a server without SASL, and a server that refuses the password.
await proxy.refuse();
await refuse({ auth }, 50);
await refuse({ sasl }, 50);
await proxy.accept();
await refuse({ auth: [{ scheme: 'palm-reading', credentials }] });
await refuse({ sasl });
let tokens = 0;
const stop = proxy.on((frame) => {
  if (!answered('sasl')(frame)) return undefined;
  tokens += 1;
  return tokens === 1
    ? { replaceWith: withToken(frame, 'realm="zk",nonce="1",qop="auth",charset=utf-8,algorithm=md5-sess') }
    : { replaceError: -115 };
});
await refuse({ sasl });
stop();

// A refusal that ends a session with a hold.
const client = await LockClient.connect(proxy.connectString, { ...options, auth });
const mutex = new InterProcessMutex(client, '/orders/42');
const hold = await mutex.acquire({ data: Buffer.from(secret) });
proxy.on((frame) => (answered('auth')(frame) ? { replaceError: -115 } : undefined));
proxy.cut();
kept.push(await aborted(hold.signal), await rejection(mutex.acquire({ timeoutMs: 50 })));

const codes = kept.flatMap((one) => (one instanceof LockError ? [one.code] : []));

// The places in which a secret must be found.
kept.push(
  Object.assign(new Error('without'), { stack: `example in a stack: ${secret}` }),
  new TypeError(`example in a message: ${secret}`),
  new Error('without', { cause: new RangeError(`example in a cause: ${secret}`) }),
  new AggregateError([new Error(`example in a list: ${secret}`)]),
  Object.assign(new Error('without'), { options: { account: [`example in a field: ${secret}`] } }),
  Object.assign(new Error('without'), { [Symbol('account')]: `example in a symbol: ${secret}` }),
  new Error(`example in a long message: ${'x'.repeat(2_000)}${secret}`),
);

const found = (await stringsOfErrors()).filter((each) => each.includes(secret));
process.stdout.write(JSON.stringify({ codes, tokens, found }));
await client.close({ timeoutMs: 50 });
