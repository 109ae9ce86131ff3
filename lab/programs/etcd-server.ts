import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isCommand } from '../servers/debian-zookeeper.ts';
import { onFreshPorts, PortTakenError } from '../servers/free-port.ts';
import { whenProcessEnds } from '../servers/process-end.ts';
import { ServerProcess } from '../servers/server-process.ts';

/** One server of etcd, or several that vote, each in a process of its own, on 127.0.0.1. */
export interface EtcdCluster extends AsyncDisposable {
  /** The ports for clients: the leader's is the last one. */
  readonly ports: readonly number[];
}

const startLimitMs = 20_000;
const pollMs = 50;

/** The name of the missing part if etcd cannot run here. */
export function missingEtcd(): string | undefined {
  return isCommand('etcd') ? undefined : 'etcd (apt-get install etcd-server)';
}

/** Starts etcd, and resolves when every member serves. */
export async function startEtcd(size = 1): Promise<EtcdCluster> {
  return onFreshPorts(size * 2, async (all) => {
    const ports = all.slice(0, size);
    const directory = mkdtempSync(join(tmpdir(), 'etcd-'));
    const removeData = (): void => rmSync(directory, { recursive: true, force: true });
    const forget = whenProcessEnds(removeData);
    const processes = await Promise.all(commandLines(ports, all.slice(size), directory).map(spawn));
    const stop = async (): Promise<void> => {
      await Promise.all(processes.map((process) => process.kill()));
      removeData();
      forget();
    };
    try {
      await Promise.all(processes.map((process, index) => serving(ports[index] ?? 0, process)));
      return { ports: await leaderLast(ports), [Symbol.asyncDispose]: stop };
    } catch (error) {
      await stop();
      throw error;
    }
  });
}

interface Member {
  readonly directory: string;
  readonly commandLine: readonly string[];
}

function commandLines(ports: readonly number[], peerPorts: readonly number[], directory: string): Member[] {
  const url = (port = 0): string => `http://127.0.0.1:${port}`;
  const cluster = peerPorts.map((port, index) => `member${index}=${url(port)}`).join(',');
  return ports.map((port, index) => {
    const options = {
      name: `member${index}`,
      'listen-client-urls': url(port),
      'advertise-client-urls': url(port),
      'listen-peer-urls': url(peerPorts[index]),
      'initial-advertise-peer-urls': url(peerPorts[index]),
      'initial-cluster': cluster,
      logger: 'zap',
      'log-level': 'error',
    };
    const own = mkdtempSync(join(directory, 'member-'));
    const values = Object.entries({ ...options, 'data-dir': join(own, 'data') });
    return { directory: own, commandLine: ['etcd', ...values.map(([name, value]) => `--${name}=${value}`)] };
  });
}

function spawn({ directory, commandLine }: Member): Promise<ServerProcess> {
  return ServerProcess.spawn(directory, commandLine);
}

async function serving(port: number, process: ServerProcess): Promise<void> {
  const deadline = performance.now() + startLimitMs;
  while (performance.now() < deadline) {
    const serves = await Promise.race([isHealthy(port), process.ended]);
    if (process.hasEnded) throw await startFailure(port, process);
    if (serves === true) return;
    await delay(pollMs);
  }
  throw new Error(`etcd at port ${port} did not serve within ${startLimitMs} ms:\n${process.logTail()}`);
}

async function isHealthy(port: number): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${port}/health`).catch(() => undefined);
  return answer !== undefined && (await answer.text()).includes('"true"');
}

async function leaderLast(ports: readonly number[]): Promise<number[]> {
  const leads = await Promise.all(
    ports.map(async (port) => /^etcd_server_is_leader 1$/m.test(await etcdMetrics(port))),
  );
  return [...ports].sort((a, b) => Number(leads[ports.indexOf(a)]) - Number(leads[ports.indexOf(b)]));
}

/** The counters of one member, in the text format of Prometheus. */
export async function etcdMetrics(port: number): Promise<string> {
  return (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
}

async function startFailure(port: number, process: ServerProcess): Promise<Error> {
  const log = process.logTail();
  const message = `etcd at port ${port} ended while starting (${await process.ended}):\n${log}`;
  return /address already in use/i.test(log) ? new PortTakenError(message) : new Error(message);
}
