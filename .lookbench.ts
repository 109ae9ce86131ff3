import { startServer } from './harness/zookeeper-server.ts';
const [sessionsText = '64', rounds = '6', seconds = '2', ...builds] = process.argv.slice(2);
const sessions = Number(sessionsText);
const server = await startServer({ javaOptions: (process.env.SYNC ? [] : ['-Dzookeeper.forceSync=no']) } as never);
const peers = [];
for (const build of builds) {
  const { LockClient, InterProcessMutex } = await import(`${build}/index.js`);
  const clients = await Promise.all(Array.from({ length: sessions }, () => LockClient.connect(server.connectString)));
  const locks = clients.map((c: unknown) => new InterProcessMutex(c, `/b/${peers.length}`));
  peers.push({ build, clients, locks, rates: [] as number[], cpus: [] as number[] });
}
const run = async (locks: any[], ms: number) => {
  let cycles = 0; const until = performance.now() + ms; const t0 = performance.now(); const c0 = process.cpuUsage();
  await Promise.all(locks.map(async (lock) => { while (performance.now() < until) { const h = await lock.acquire(); await h.release(); cycles += 1; } }));
  const c = process.cpuUsage(c0);
  return { rate: cycles * 1000 / (performance.now() - t0), cpu: (c.user + c.system) / cycles };
};
for (const p of peers) await run(p.locks, 1500);
for (let r = 0; r < Number(rounds); r++) for (const p of r % 2 ? [...peers].reverse() : peers) { const o = await run(p.locks, Number(seconds) * 1000); p.rates.push(o.rate); p.cpus.push(o.cpu); }
const med = (a: number[]) => [...a].sort((x, y) => x - y)[a.length >> 1] as number;
for (const p of peers) console.log(p.build, 'rate', med(p.rates).toFixed(0), `(${p.rates.map((x) => x.toFixed(0)).join(' ')})`, 'cpu µs', med(p.cpus).toFixed(0), `(${p.cpus.map((x) => x.toFixed(0)).join(' ')})`);
await Promise.all(peers.flatMap((p) => p.clients.map((c: any) => c.close())));
await server.stop(); process.exit(0);
