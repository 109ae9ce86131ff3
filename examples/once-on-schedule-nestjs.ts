// A cron job on several hosts, exactly once per tick, with @nestjs/schedule: start this program on each host.
// @nestjs/schedule says nothing of other hosts, and does not name its ticks. So the job names the tick by the time of the
// schedule that is nearest to the clock, and asks for the turn itself.
import 'reflect-metadata';
import { hostname } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import zookeeper from 'node-zookeeper-client';
import { LockClient } from 'zookeeper-fair-lock';
import { OncePerTick } from './lib/once-per-tick.js';

const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';
const [host = hostname(), count = '2'] = process.argv.slice(2);
const everyMs = 2_000;

const locks = await LockClient.connect(servers, { sessionTimeoutMs: 4_000 });
const app = zookeeper.createClient(servers, { sessionTimeout: 30_000, retries: 0 });
app.connect();

class Report {
  static left = Number(count);
  static enough = (): void => undefined;
  static readonly running = new Set<Promise<void>>();
  readonly #once = new OncePerTick(locks, app, '/schedule/report');

  run(): void {
    const tick = new Date(Math.round(Date.now() / everyMs) * everyMs).toISOString();
    const running = this.#run(tick)
      .catch((error: unknown) => {
        console.error(error);
        process.exitCode = 1;
      })
      .finally(() => {
        Report.running.delete(running);
        Report.left -= 1;
        if (Report.left === 0) Report.enough();
      });
    Report.running.add(running);
  }

  async #run(tick: string): Promise<void> {
    const turn = await this.#once.begin(tick);
    if (turn === undefined) return;
    try {
      console.log(`${host} runs ${tick}`);
      await setTimeout(300, undefined, { signal: turn.signal });
      await turn.done((transaction) => transaction.create(`/schedule/report/at-${tick}`, Buffer.from(host)));
      console.log(`${host} has done ${tick}`);
    } finally {
      await turn.end();
    }
  }
}

// oxlint-disable-next-line typescript/no-extraneous-class -- a module of Nest is an empty class
class AppModule {}

// As @Injectable(), @Cron(…) and @Module(…) do, without the compiler option `experimentalDecorators`.
Injectable()(Report);
Cron('*/2 * * * * *', { name: 'report' })(Report.prototype, 'run', {
  value: Object.getOwnPropertyDescriptor(Report.prototype, 'run')?.value as unknown,
});
Module({ imports: [ScheduleModule.forRoot()], providers: [Report] })(AppModule);

const enough = new Promise<void>((resolve) => (Report.enough = resolve));
const nest = await NestFactory.createApplicationContext(AppModule);
console.log(`${host} has started`);
await enough;
await nest.close();
await Promise.all(Report.running);
await locks.close();
app.close();
