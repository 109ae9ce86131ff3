import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { flockAptGet } from '../servers/apt-get.ts';
import { isCommand } from '../servers/debian-zookeeper.ts';
import { AdviceError } from '../servers/docker/advice.ts';
import { freePorts } from '../servers/free-port.ts';
import { until } from '../until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

/**
 * The folder of `prometheus` and `promtool`. If this machine has none, Debian's package is fetched and unpacked: 19 MB,
 * without its service, which would take port 9090.
 *
 * @throws AdviceError if that is not possible
 */
export async function ensurePrometheus(): Promise<string> {
  const unpacked = join(root, 'node_modules/.cache/prometheus');
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), join(unpacked, 'usr/bin')];
  const found = folders.find(
    (folder) => existsSync(join(folder, 'promtool')) && existsSync(join(folder, 'prometheus')),
  );
  if (found !== undefined) return found;
  if (!isCommand('apt-get') || !isCommand('dpkg'))
    throw new AdviceError('Prometheus is missing: put `prometheus` and `promtool` on the PATH');
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-package-'));
  try {
    const [update = []] = flockAptGet([]);
    if (process.getuid?.() === 0) await run('flock', update);
    await run('apt-get', ['download', '-qq', 'prometheus'], { cwd: folder });
    const [file] = readdirSync(folder);
    mkdirSync(unpacked, { recursive: true });
    await run('dpkg', ['-x', join(folder, file ?? ''), unpacked]);
  } catch (error) {
    throw new AdviceError(`Prometheus is missing, and Debian's package cannot be fetched: ${String(error)}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return join(unpacked, 'usr/bin');
}

/** The OpenTelemetry Collector appends the unit of a metric to its name. The exporter for Node.js does not. */
const unitsAppended =
  ", metric_relabel_configs: [{ source_labels: [__name__], target_label: __name__, regex: '(zookeeper_.+_(?:duration|remaining))(_bucket|_count|_sum)?', replacement: '${1}_seconds${2}' }]";

/** A real Prometheus on 127.0.0.1 that scrapes one target four times a second. */
export class Prometheus implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #url: string;
  readonly #folder: string;

  /** @param names those of the series: as the target has them, or as the OpenTelemetry Collector would write them */
  static async start(bin: string, target: string, names: 'target' | 'collector' = 'target'): Promise<Prometheus> {
    const folder = mkdtempSync(join(tmpdir(), 'prometheus-'));
    const [port] = await freePorts(1);
    const config = join(folder, 'prometheus.yml');
    writeFileSync(
      config,
      `scrape_configs: [{ job_name: test, scrape_interval: 250ms, scrape_timeout: 250ms, static_configs: [{ targets: ['${target}'] }]${names === 'collector' ? unitsAppended : ''} }]\n`,
    );
    const child = spawn(
      join(bin, 'prometheus'),
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${join(folder, 'data')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=error',
      ],
      { stdio: 'ignore' },
    );
    const prometheus = new Prometheus(child, `http://127.0.0.1:${port}`, folder);
    await until('Prometheus answers', () => prometheus.#isReady(), 20_000);
    return prometheus;
  }

  private constructor(child: ChildProcess, url: string, folder: string) {
    this.#child = child;
    this.#url = url;
    this.#folder = folder;
  }

  /** The series of a query now: labels and value. */
  async query(query: string): Promise<{ metric: Record<string, string>; value: number }[]> {
    const answer = await fetch(`${this.#url}/api/v1/query?${new URLSearchParams({ query }).toString()}`);
    const { status, error, data } = (await answer.json()) as {
      status: string;
      error?: string;
      data?: { result: { metric: Record<string, string>; value: [number, string] }[] };
    };
    if (status !== 'success') throw new Error(`${query}: ${error}`);
    return (data?.result ?? []).map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #isReady(): Promise<boolean> {
    return fetch(`${this.#url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  }
}

/** The output of `promtool`; throws if it refuses. */
export function promtool(bin: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(join(bin, 'promtool'), args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${stdout}${stderr}`);
  return stdout;
}
