import { execFile } from 'node:child_process';
import { connect, createServer } from 'node:net';
import { promisify } from 'node:util';
import { flockAptGet } from '../servers/apt-get.ts';
import { isCommand } from '../servers/debian-zookeeper.ts';
import { afterThisProcess } from '../servers/docker/after-this-process.ts';
import { listen, onFreshPorts } from '../servers/free-port.ts';

const run = promisify(execFile);

/** TCP on the loopback between a port and its peers. */
export interface Link {
  readonly port: number;
  /** The port of the only peer that is cut off; without it, every peer is cut off. */
  readonly peer?: number;
  /** The port of the only peer that is not cut off. */
  readonly exceptPeer?: number;
  /**
   * `reset`: a peer that sends to the port gets a reset at once, while the port's own side gets nothing. @default
   * silent
   */
  readonly how?: 'silent' | 'reset';
}

/** Links that are cut until they are healed. */
export interface Cut extends AsyncDisposable {
  /** Idempotent. */
  heal(): Promise<void>;
}

type Rule = readonly string[];

/**
 * Cuts TCP connections of this machine: the kernel drops their packets, and neither end gets an error. The connections
 * heal on `heal()`, and when this process ends, however it ends.
 *
 * @example
 * await using cut = await cutLinks([{ port: leader.quorumPort, exceptPeer: otherFollowersPort }]);
 */
export async function cutLinks(links: readonly Link[]): Promise<Cut> {
  await ensureFirewall();
  return cut(links);
}

let ensured: Promise<void> | undefined;

/** Installs iptables if it is missing, and tries it. Throws if iptables cannot cut a connection. */
export function ensureFirewall(): Promise<void> {
  ensured ??= ensure();
  return ensured;
}

async function ensure(): Promise<void> {
  if (process.getuid?.() !== 0)
    throw new Error('Links between servers are cut by iptables, for which the tests must run as root on Linux');
  if (!isCommand('iptables')) {
    if (!isCommand('apt-get'))
      throw new Error(
        'Links between servers are cut by iptables, which is missing here, and so is apt-get to install it',
      );
    console.error('Installing iptables by apt-get');
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    for (const args of flockAptGet(['iptables'])) await run('flock', args, { env });
  }
  await tryOut();
}

/**
 * Tries a cut: if a kernel accepts rules and does not apply them, every test would wait for a fault that never comes.
 */
async function tryOut(): Promise<void> {
  const server = createServer((socket) => socket.end());
  const port = await onFreshPorts(1, ([candidate = 0]) => listen(server, candidate));
  try {
    for (const how of ['silent', 'reset'] as const) {
      await using _ = await cut([{ port, how }]);
      if (await answers(port))
        throw new Error(`iptables took the rules that cut 127.0.0.1:${port} (${how}), and yet it can be reached`);
    }
    if (!(await answers(port)))
      throw new Error(`127.0.0.1:${port} cannot be reached, although no rule of iptables cuts it any more`);
  } finally {
    server.close();
  }
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port, timeout: 300 });
    const settle = (doesAnswer: boolean) => {
      socket.destroy();
      resolve(doesAnswer);
    };
    socket
      .once('connect', () => settle(true))
      .once('timeout', () => settle(false))
      .once('error', () => settle(false));
  });
}

async function cut(links: readonly Link[]): Promise<Cut> {
  const rules = links.flatMap(rulesOf);
  const inForce: Rule[] = [];
  // A separate process deletes the rules if this process is killed: otherwise they would cut the next user of these
  // ports.
  const cancelCleanup = afterThisProcess('sh', [
    '-c',
    rules.map((rule) => `iptables ${command('-D', rule).join(' ')}`).join('; '),
  ]);
  const healAll = async (): Promise<void> => {
    for (let rule = inForce.pop(); rule; rule = inForce.pop()) await iptables('-D', rule);
    cancelCleanup();
  };
  let healed: Promise<void> | undefined;
  const heal = (): Promise<void> => (healed ??= healAll());
  try {
    for (const rule of rules) {
      await iptables('-I', rule);
      inForce.push(rule);
    }
  } catch (error) {
    await heal();
    throw error;
  }
  return { heal, [Symbol.asyncDispose]: heal };
}

async function iptables(action: '-I' | '-D', rule: Rule): Promise<void> {
  try {
    await run('iptables', command(action, rule));
  } catch (error) {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : String(error);
    throw new Error(`Links between servers are cut by iptables, which does not work here: ${said}`, { cause: error });
  }
}

/** Waits if another program changes rules at the same moment. */
function command(action: '-I' | '-D', rule: Rule): string[] {
  return ['-w', '20', action, ...rule];
}

function rulesOf({ port, peer, exceptPeer, how = 'silent' }: Link): Rule[] {
  const to = ['-p', 'tcp', '--dport', `${port}`, ...peerPort('--sport', peer, exceptPeer)];
  const from = ['-p', 'tcp', '--sport', `${port}`, ...peerPort('--dport', peer, exceptPeer)];
  const tag = ['-m', 'comment', '--comment', `zookeeper-fair-lock-test-${process.pid}`];
  switch (how) {
    case 'silent':
      return [
        ['INPUT', '-i', 'lo', ...to, ...tag, '-j', 'DROP'],
        ['INPUT', '-i', 'lo', ...from, ...tag, '-j', 'DROP'],
      ];
    case 'reset':
      return [
        ['OUTPUT', '-o', 'lo', ...to, ...tag, '-j', 'REJECT', '--reject-with', 'tcp-reset'],
        // The kernel's reset also has this source port.
        ['INPUT', '-i', 'lo', ...from, '!', '--tcp-flags', 'RST', 'RST', ...tag, '-j', 'DROP'],
      ];
  }
}

function peerPort(flag: string, peer: number | undefined, exceptPeer: number | undefined): string[] {
  if (peer !== undefined) return [flag, `${peer}`];
  return exceptPeer === undefined ? [] : ['!', flag, `${exceptPeer}`];
}
