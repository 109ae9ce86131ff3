import type { LockClientOptions } from '../../../../../src/client/options/client-options.js';
import type { LockClient } from '../../../../../src/client/lock-client.js';
import { errorText } from '../../../../../src/support/error-text.js';
import { printableLines } from '../../../../../src/support/printable.js';
import { parseConnectString, type ConnectString } from '../../../../../src/zookeeper/wire/connect-string.js';
import type { Network } from '../../../../../src/zookeeper/network/network.js';
import { credentialsOf } from './credentials.js';
import { nonEmpty, type Io } from '../io.js';
import { commandErrorText, commandText } from '../own-words.js';
import { tlsOf, tlsOptions } from './tls-files.js';
import { textOf } from './text-of.js';
import { UsageError } from '../usage-error.js';
import type { Arguments } from '../verb.js';

/** The options of every verb that connects. A verb spreads them into its own. */
export const connectionOptions = {
  servers: {
    kind: 'text',
    value: 'HOSTS',
    summary:
      'host:port,host:port/chroot; else --servers-file, $ZKLOCK_SERVERS_FILE, $ZOOKEEPER_CONNECT, 127.0.0.1:2181',
  },
  'servers-file': {
    kind: 'text',
    value: 'FILE',
    completes: 'file',
    summary: 'a file with host:port,host:port/chroot, read again while no server answers; else $ZKLOCK_SERVERS_FILE',
  },
  'session-timeout': {
    kind: 'seconds',
    value: 'SECS',
    minMs: 1,
    maxMs: 2 ** 31 - 1,
    summary: 'the session timeout to ask the servers for; 30 by default',
  },
  'connect-timeout': {
    kind: 'seconds',
    value: 'SECS',
    minMs: 1,
    summary: 'how long to try to reach a server at the start; 15 by default',
  },
  'auth-file': {
    kind: 'text',
    value: 'FILE',
    completes: 'file',
    summary:
      'a file with credentials, a line SCHEME:CREDENTIALS each, such as digest:user:secret or sasl:user:secret; else $ZKLOCK_AUTH_FILE, $ZKLOCK_AUTH',
  },
  ...tlsOptions,
} as const;

/** The calls to a verb while it connects. */
interface Meanwhile {
  /** Called once, when the first request has been sent and a server has yet to answer it. */
  readonly asked?: () => void;
  /** Called once with a message if no server answers for some seconds. @default prints it on standard error */
  readonly isSlow?: (message: string) => void;
}

/** The output options that verbs share. */
export const jsonOption = { kind: 'flag', summary: 'print JSON instead of text' } as const;

/**
 * Connects as the options and the environment say.
 *
 * @param more options of the client that the verb sets itself
 * @throws UsageError for a bad connect string, or credentials or keys that cannot be read
 */
export async function connect(
  args: Arguments<typeof connectionOptions>,
  io: Io,
  more: LockClientOptions = {},
  meanwhile: Meanwhile = {},
): Promise<LockClient> {
  const { options } = args;
  targetOf(args, io);
  const credentials = credentialsOf(options['auth-file'], io);
  const tls = tlsOf(args, io);
  const hasAccount = credentials.auth.length > 0 || credentials.sasl !== undefined || tls?.().cert !== undefined;
  if (more.acl === 'creator-only' && !hasAccount)
    throw new UsageError(
      'Expected --acl to be open, or creator-only with an account, got "creator-only": it means the accounts of --auth-file and of --tls-cert, and none is given',
    );
  const [{ LockClient }, { systemSurroundings }] = await Promise.all([
    import('../../../../../src/client/lock-client.js'),
    import('../../../../../src/client/surroundings.js'),
  ]);
  const { asked, isSlow = (message) => void io.stderr.write(`zklock: ${message}\n`) } = meanwhile;
  const { network } = systemSurroundings;
  const surroundings = { ...systemSurroundings, network: asked ? withCall(asked, network) : network };
  const clientOptions = {
    sessionTimeoutMs: options['session-timeout'],
    connectionTimeoutMs: options['connect-timeout'],
    ...more,
    ...credentials,
    tls,
  };
  try {
    return await LockClient.connectIn(surroundings, serversOf(args, io).given, clientOptions, (message) =>
      isSlow(commandText(printableLines(message))),
    );
  } catch (error) {
    // The client judges what is left, such as credentials that its Node.js cannot use.
    if (error instanceof TypeError || error instanceof RangeError) throw new UsageError(commandErrorText(error));
    throw error;
  }
}

function withCall(meanwhile: () => void, network: Network): Network {
  let isCalled = false;
  const call = (): void => {
    if (!isCalled) meanwhile();
    isCalled = true;
  };
  return {
    ...network,
    connect(to, tls, way) {
      const link = network.connect(to, tls, way);
      // The client, whose listener follows, sends its request first.
      link.on(tls ? 'secureConnect' : 'connect', () => setImmediate(call));
      return link;
    },
  };
}

/** @throws UsageError for a bad connect string */
export function targetOf(args: Arguments<typeof connectionOptions>, io: Io): ConnectString {
  const { source, given } = serversOf(args, io);
  try {
    return parseConnectString(typeof given === 'string' ? given : given());
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(commandErrorText(error).replace('Expected --servers', `Expected ${source}`));
  }
}

/** The servers, and the name of their source. */
function serversOf({ options }: Arguments<typeof connectionOptions>, { env }: Io): Servers {
  const { servers, 'servers-file': file } = options;
  if (servers !== undefined && file !== undefined)
    throw new UsageError(`Expected one of --servers and --servers-file, got both: ${servers} and ${file}`);
  if (servers !== undefined) return { source: '--servers', given: servers };
  if (file !== undefined) return inFile(file, '--servers-file');
  const other = nonEmpty(env['ZKLOCK_SERVERS_FILE']);
  if (other !== undefined) return inFile(other, '$ZKLOCK_SERVERS_FILE');
  return { source: '$ZOOKEEPER_CONNECT', given: nonEmpty(env['ZOOKEEPER_CONNECT']) ?? '127.0.0.1:2181' };
}

function inFile(file: string, option: string): Servers {
  const name = `${option} ${JSON.stringify(file)}`;
  return {
    source: `the text of ${name}`,
    given: () => {
      try {
        return textOf(file).trim();
      } catch (error) {
        throw new UsageError(
          `Expected ${option} to be a file with host[:port][,host[:port]…][/chroot], got ${JSON.stringify(file)}: ${errorText(error)}`,
        );
      }
    },
  };
}

interface Servers {
  readonly source: string;
  readonly given: string | (() => string);
}
