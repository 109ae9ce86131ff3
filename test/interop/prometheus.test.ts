import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { InterProcessMutex } from '../../src/index.ts';
import { freePorts } from '../../lab/servers/free-port.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { Telemetry } from '../../lab/programs/open-telemetry.ts';
import { ensurePrometheus, Prometheus, promtool } from '../../lab/programs/prometheus.ts';
import { skipWithout } from '../../lab/skip-without.ts';
import { takeAway } from '../../lab/queue.ts';
import { rejection, until } from '../../lab/until.ts';

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets: readonly { readonly expr: string }[] }[];
}

/** The time after which a busy machine has surely scraped twice: a scrape that takes more than 250 ms fails. */
const scrapedMs = 30_000;

const folder = 'examples/observability';
const { panels } = JSON.parse(readFileSync(`${folder}/grafana-dashboard.json`, 'utf8')) as Dashboard;

/** The alert rules as `name: expression`, read line by line, because a YAML parser would be a package of its own. */
function alertRules(): Map<string, string> {
  const text = readFileSync(`${folder}/alert-rules.yml`, 'utf8').replaceAll(/^ *#.*\n/gm, '');
  return new Map(
    text
      .split('- alert: ')
      .slice(1)
      .map((rule) => {
        const [name = ''] = rule.split('\n');
        const expr = /expr: (?:>-\n)?(.*?)\n {8}(?:for|labels):/s.exec(rule)?.[1] ?? '';
        return [name, expr.replaceAll(/\s+/g, ' ').trim()];
      }),
  );
}

/** The query as Grafana sends it, with values for its variables that suit a run of a few seconds. */
const filledIn = (expr: string): string => expr.replaceAll('$__rate_interval', '1m').replaceAll('$lock', '.*');

describe('a real Prometheus that scrapes the exporter of OpenTelemetry', function () {
  this.timeout(240_000);
  const lab = labOfEachTest('prometheus', { server: 'own', proxy: true, client: 'none' });
  let bin: string;
  let target: string;
  let telemetry: Telemetry;
  let prometheus: Prometheus;
  /** Has the same series under the names of the OpenTelemetry Collector. */
  let collector: Prometheus;

  before(async function () {
    await skipWithout(this, async () => (bin = await ensurePrometheus()));
  });

  beforeEach(async () => {
    const [port = 0] = await freePorts(1);
    target = `127.0.0.1:${port}`;
    telemetry = await Telemetry.start({ lockName: (path) => path.replace(lab.path, '/locks') }, port);
    [prometheus, collector] = await Promise.all([
      Prometheus.start(bin, target),
      Prometheus.start(bin, target, 'collector'),
    ]);
  });
  afterEach(async () => {
    await Promise.all([prometheus, collector].map((each) => each[Symbol.asyncDispose]()));
    await telemetry[Symbol.asyncDispose]();
  });

  const onEach = async (query: string): Promise<Awaited<ReturnType<Prometheus['query']>>[]> =>
    Promise.all([prometheus, collector].map((each) => each.query(query)));
  /** Waits, because a query has no answer while the latest scrape is one that failed on a busy machine. */
  const reads = async (query: string, isIt: (value: number) => boolean, withinMs = scrapedMs): Promise<number> => {
    let read: (number | undefined)[] = [];
    const look = async (): Promise<boolean> => {
      read = (await onEach(query)).map((series) => series[0]?.value);
      return read.every((value) => value !== undefined && isIt(value));
    };
    await until(`the value of ${query}`, look, withinMs).catch((error: unknown) => {
      throw new Error(`${query} is ${read.map((value) => value ?? 'without a value').join(' and ')}`, { cause: error });
    });
    return read[0] ?? NaN;
  };

  it('reads the counts of the workload, and every query of the dashboard has an answer', async () => {
    const client = await lab.connect();
    const mutex = new InterProcessMutex(client, `${lab.path}/orders`);
    await mutex.withLock(() => undefined);
    await reads('zookeeper_lock_acquisitions_total', () => true);
    for (let count = 0; count < 9; count += 1) await mutex.withLock(() => undefined);
    const acquired = 'zookeeper_lock_acquisitions_total{outcome="acquired",zookeeper_lock_name="/locks/orders"}';
    await reads(acquired, (count) => count === 10);
    await reads('{__name__=~"zookeeper_lock_wait_duration(_seconds)?_count"}', (count) => count === 10);
    await reads('zookeeper_lock_waiting', (count) => count === 0);
    await reads('{__name__=~"zookeeper_session_remaining(_seconds)?"}', (seconds) => seconds > 1);
    const withoutUnit = '{__name__=~"zookeeper_.*(duration|remaining)(_bucket|_count|_sum)?"}';
    expect(await collector.query(withoutUnit)).to.deep.equal([]);
    for (const { title, targets } of panels)
      for (const { expr } of targets) {
        const query = filledIn(expr);
        await until(
          `"${title}" has a number: ${query}`,
          async () =>
            (await onEach(query)).every(
              (series) => series.length > 0 && series.every(({ value: number }) => Number.isFinite(number)),
            ),
          scrapedMs,
        );
      }
  });

  it('fires no alert of a healthy run, and each alert of a run with its trouble', async () => {
    expect(promtool(bin, 'check', 'rules', `${folder}/alert-rules.yml`)).to.contain('7 rules found');
    const rules = alertRules();
    expect(rules.size).to.equal(7);
    const client = await lab.connect({ sessionTimeoutMs: 30_000 });
    const mutex = new InterProcessMutex(client, `${lab.path}/orders`);
    for (let count = 0; count < 20; count += 1) await mutex.withLock(() => undefined);
    const ofServers = `zookeeper_sessions_total{zookeeper_ensemble="${lab.proxy.connectString}"}`;
    // A process that opens a client for each job loses no session.
    for (let jobs = 1; jobs <= 3; jobs += 1) {
      await (await lab.connect()).close();
      await reads(ofServers, (sessions) => sessions > jobs);
    }
    const scraped = 'increase(zookeeper_lock_acquisitions_total{outcome="acquired"}[5m]) > 0';
    await mutex.withLock(() => undefined);
    await until(
      'two scrapes',
      async () => {
        await mutex.withLock(() => undefined);
        return (await onEach(scraped)).every((series) => series.length > 0);
      },
      scrapedMs,
    );
    for (const [name, expr] of rules)
      expect(await onEach(expr), `${name} of a healthy run: ${expr}`).to.deep.equal([[], []]);

    // Trouble: a hold that is lost, acquires that fail, a lock that nobody gives up, and a session that ends twice.
    const hold = await mutex.acquire();
    await takeAway(hold, lab.observer);
    await hold.release();
    // A holder of another process, whose acquire is not counted here.
    const holder = `${lab.path}/stuck/_c_11111111-1111-1111-1111-111111111111-lock-0000000000`;
    for (const path of [`${lab.path}/stuck`, holder]) await lab.observer.create(path);
    const stuck = new InterProcessMutex(client, `${lab.path}/stuck`);
    const stop = new AbortController();
    const waiting = rejection(stuck.acquire({ signal: stop.signal }));
    const failed = 'zookeeper_lock_acquisitions_total{outcome="timed-out",zookeeper_lock_name="/locks/stuck"}';
    await reads(failed, (count) => count === 0); // before its first failure
    for (let count = 0; count < 20; count += 1) await stuck.tryAcquire();
    const losses = `zookeeper_session_losses_total{zookeeper_ensemble="${lab.proxy.connectString}"}`;
    const sessions = await reads(ofServers, () => true);
    for (let count = 1; count <= 3; count += 1) {
      await lab.observer.endSession(client);
      // A connection that the server left without an answer when its session ended is given up after two thirds of 30 s.
      await reads(ofServers, (opened) => opened >= sessions + count, 40_000);
    }
    await reads(losses, (lost) => lost >= 3);
    const reconnects = `zookeeper_session_reconnects_total{zookeeper_ensemble="${lab.proxy.connectString}"}`;
    // A fast client attaches again to a session that is being ended, so it may have reconnected before.
    const before = await reads(reconnects, () => true);
    for (let count = 1; count <= 8; count += 1) {
      lab.proxy.cut();
      await reads(reconnects, (all) => all >= before + count);
    }
    const inShort = (expr: string): string => expr.replace('> 30', '> 0').replace('< 5', '< 60');
    for (const [name, expr] of rules)
      await until(
        `${name} fires: ${expr}`,
        async () => (await onEach(inShort(expr))).every((series) => series.length > 0),
        scrapedMs,
      );
    stop.abort();
    await waiting;
    await lab.observer.remove(holder);
  });
});
