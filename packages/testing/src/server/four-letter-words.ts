import type { ServerConnection } from './server-connection.js';
import { sessionName, type Session } from './session-table.js';
import type { StateMachine } from '../tree/state-machine.js';

/** The server's state that the four-letter words print. */
export interface ServerFacts {
  readonly machine: StateMachine;
  readonly connections: ReadonlySet<ServerConnection>;
  readonly sessions: readonly Session[];
  readonly received: number;
  readonly sent: number;
}

const answered: Readonly<Record<string, (facts: ServerFacts) => string>> = {
  ruok: () => 'imok',
  srvr,
  stat,
  cons,
  wchs,
  mntr,
  isro: () => 'rw',
  dump,
};

/** The words that have an answer. */
export const fourLetterWords: readonly string[] = Object.keys(answered);

/** All words that the Java server knows. Any other four letters are the length of a frame. */
export const knownWords: ReadonlySet<string> = new Set([
  ...fourLetterWords,
  'conf',
  'crst',
  'dirs',
  'envi',
  'gtmk',
  'stmk',
  'srst',
  'wchc',
  'wchp',
  'hash',
]);

/** Like the Java server, whose scripts need `srvr`, always answers that one. */
export function answerWord(word: string, facts: ServerFacts, allowed: readonly string[]): string {
  const answer = word === 'srvr' || allowed.includes(word) ? answered[word]?.(facts) : undefined;
  return answer ?? `${word} is not executed because it is not in the whitelist.\n`;
}

function versionOf({ machine }: ServerFacts): string {
  return machine.tree.version === '3.8' ? '3.8.0-embedded' : '3.9.5-embedded';
}

function srvr(facts: ServerFacts): string {
  return `Zookeeper version: ${versionOf(facts)}\n${figures(facts)}`;
}

function stat(facts: ServerFacts): string {
  const clients = [...facts.connections].map((connection) => ` ${traffic(connection)})\n`);
  return `Zookeeper version: ${versionOf(facts)}\nClients:\n${clients.join('')}\n${figures(facts)}`;
}

function figures({ machine, connections, received, sent }: ServerFacts): string {
  const traffic = `Received: ${received}\nSent: ${sent}\nConnections: ${connections.size}\nOutstanding: 0\n`;
  return `Latency min/avg/max: 0/0.0/0\n${traffic}Zxid: 0x${machine.zxid.toString(16)}\nMode: standalone\nNode count: ${machine.tree.size}\n`;
}

function cons({ connections }: ServerFacts): string {
  const lines = [...connections].map((connection) => {
    const { sessionId, lastXid, timeoutMs, connectedAt } = connection;
    if (sessionId === 0n) return ` ${traffic(connection)})\n`;
    return ` ${traffic(connection)},sid=0x${sessionId.toString(16)},est=${Math.floor(connectedAt)},to=${timeoutMs},lcxid=0x${lastXid.toString(16)})\n`;
  });
  return `${lines.join('')}\n`;
}

function traffic({ remoteAddress, received, sent }: ServerConnection): string {
  return `${remoteAddress}[1](queued=0,recved=${received},sent=${sent}`;
}

/** Like the Java server, counts only the data watches. */
function wchs({ machine: { tree } }: ServerFacts): string {
  const { watcherCount, pathCount, size } = tree.dataWatches;
  return `${watcherCount} connections watching ${pathCount} paths\nTotal watches:${size}\n`;
}

/** The sessions and their ephemeral znodes, without the connections that the Java server lists, too. */
function dump({ sessions, machine: { tree } }: ServerFacts): string {
  const expiries = [...new Set(sessions.map(({ expiresAt }) => expiresAt))].sort((a, b) => a - b);
  const sets = expiries.map((time) => {
    const names = sessions.filter(({ expiresAt }) => expiresAt === time).map(({ id }) => `\t${sessionName(id)}\n`);
    return `${names.length} expire at ${new Date(time).toISOString()}:\n${names.join('')}`;
  });
  const owners = sessions.filter(({ id }) => tree.ephemeralsOf(id).length > 0);
  const znodes = owners.map(
    ({ id }) =>
      `${sessionName(id)}:\n${tree
        .ephemeralsOf(id)
        .map((path) => `\t${path}\n`)
        .join('')}`,
  );
  return `SessionTracker dump:\nSession Sets (${sets.length})/(${sessions.length}):\n${sets.join('')}ephemeral nodes dump:\nSessions with Ephemerals (${owners.length}):\n${znodes.join('')}`;
}

function mntr(facts: ServerFacts): string {
  const { machine, connections, received, sent } = facts;
  const { tree } = machine;
  const values = {
    version: versionOf(facts),
    server_state: 'standalone',
    packets_received: received,
    packets_sent: sent,
    num_alive_connections: connections.size,
    outstanding_requests: 0,
    znode_count: tree.size,
    watch_count: tree.dataWatches.size + tree.childWatches.size,
    ephemerals_count: tree.ephemeralCount,
  };
  return Object.entries(values)
    .map(([key, value]) => `zk_${key}\t${value}\n`)
    .join('');
}
