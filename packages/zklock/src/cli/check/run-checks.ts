import type { LockClient } from '../../../../../src/client/lock-client.js';
import { nameOf } from '../../../../../src/zookeeper/wire/connect-string.js';
import { validatePath } from '../../../../../src/zookeeper/wire/path.js';
import { unknownRequestIn } from '../../../../../src/zookeeper/wire/zookeeper-error.js';
import { connect, targetOf, type connectionOptions, type jsonOption } from '../connect/connection.js';
import { credentialsOf } from '../connect/credentials.js';
import { exitCodes } from '../exit-code.js';
import { exitCodeOf } from '../failure.js';
import type { Io } from '../io.js';
import { commandErrorText } from '../own-words.js';
import { tlsOf } from '../connect/tls-files.js';
import type { Arguments } from '../verb.js';
import { printable } from '../../../../../src/support/printable.js';
import { ClientChecks } from './client-facts.js';
import { fail, ok, type Finding } from './finding.js';
import { secondConnection } from './second-connection.js';
import { judgeServers, serverFacts } from './server-facts.js';

type CheckArguments = Arguments<typeof connectionOptions & { readonly json: typeof jsonOption }>;

/** Checks whether the servers suit locks below a path, and prints what to do where they do not. */
export async function runChecks(args: CheckArguments, io: Io): Promise<number> {
  const [path = '/'] = args.operands;
  validatePath(path);
  const { hosts } = targetOf(args, io);
  credentialsOf(args.options['auth-file'], io); // before the first connection
  const how = { tls: tlsOf(args, io), timeoutMs: wordLimitMs };
  const facts = Promise.all(hosts.map((host) => serverFacts(host, how)));
  const findings = [...judgeServers(await facts), ...(await clientFindings(args, path, io))];
  print(findings, args.options.json, io);
  return exitCodeFor(findings);
}

async function clientFindings(args: CheckArguments, path: string, io: Io): Promise<Finding[]> {
  const askedMs = args.options['session-timeout'] ?? 30_000;
  let client: LockClient;
  try {
    client = await connect(args, io, { sessionTimeoutMs: askedMs });
  } catch (error) {
    const code = exitCodeOf(error);
    if (code === exitCodes.usage) throw error;
    // A session is proven by a transaction, so `connect` fails at a server that does not know `multi`.
    const unknown = unknownRequestIn(error);
    if (unknown) return [fail('operations', unknown.message, 'no lock can be taken: use ZooKeeper 3.5 or later')];
    const cause = code === exitCodes.notAllowed ? 'not-allowed' : 'unreachable';
    return [fail('connection', commandErrorText(error), 'no lock can be taken from here', cause)];
  }
  try {
    const { hosts } = targetOf(args, io);
    const { server } = client.host.sessions.current.connection;
    const beside = hosts
      .filter((host) => nameOf(host) === server)
      .map((host) =>
        secondConnection(host, { tls: tlsOf(args, io), timeoutMs: wordLimitMs, sessionTimeoutMs: askedMs }),
      );
    return [
      ok('connection', `to ${server}`),
      ...(await Promise.all(beside)).flat(),
      ...(await new ClientChecks(client.host, path).run(hosts.length, askedMs)),
    ];
  } finally {
    await client.close({ timeoutMs: 1_000 });
  }
}

function print(findings: readonly Finding[], json: boolean, io: Io): void {
  if (json) {
    io.stdout.write(`${JSON.stringify({ findings }, null, 2)}\n`);
    return;
  }
  const width = Math.max(...findings.map(({ subject }) => subject.length));
  for (const { subject, level, text, advice } of findings) {
    io.stdout.write(`${level.padEnd(7)}  ${subject.padEnd(width)}  ${printable(text)}\n`);
    if (advice !== '' && level !== 'ok') io.stdout.write(`${' '.repeat(width + 11)}→ ${advice}\n`);
  }
}

/** One server of many that does not answer stops no lock. */
function exitCodeFor(findings: readonly Finding[]): number {
  const failed = findings.filter(({ level }) => level === 'fail');
  if (failed.some(({ cause }) => cause === 'not-allowed')) return exitCodes.notAllowed;
  if (failed.some(({ subject, cause }) => cause === 'unreachable' && !subject.startsWith('server ')))
    return exitCodes.unreachable;
  return failed.length > 0 ? exitCodes.failed : exitCodes.success;
}

const wordLimitMs = 3_000;
