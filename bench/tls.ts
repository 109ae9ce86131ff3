// npm run suite -- bench-tls [--rounds 5 --seconds 3]: this library over TLS beside plain sockets, on the same server, in turn.
import { loadavg } from 'node:os';
import { startRealServer } from '../lab/servers/zookeeper-server.ts';
import { clientTls } from '../lab/servers/tls-keys.ts';
import { readOptions } from './options.ts';
import { Ours } from './peers/ours.ts';
import type { Scenario } from './peers/peer.ts';

/** The least speed over TLS, as a share of the speed without it. */
const goals: Readonly<Record<string, number>> = { solo: 0.9, 'spread 64': 0.8 };
const scenarios: readonly Scenario[] = [
  { name: 'solo', owners: 1, sessions: 1, locks: 1 },
  { name: 'spread 64', owners: 64, sessions: 1, locks: 64 },
];

const { rounds, durationMs } = readOptions(process.argv.slice(2));
const loadBefore = loadavg()[0] ?? NaN;
await using server = await startRealServer({ tickTimeMs: 2_000, jvm: 'usual', security: { tls: 'same-port' } });
const addresses = { loopback: [server.secureConnectString] };
const peers = { plain: new Ours(addresses, { tls: undefined }), tls: new Ours(addresses, { tls: clientTls() }) };

for (const { name, ...scenario } of scenarios) {
  const speeds: Record<keyof typeof peers, number[]> = { plain: [], tls: [] };
  // The first round warms the server up.
  for (let round = 0; round <= rounds; round += 1) {
    for (const peer of round % 2 === 0 ? (['plain', 'tls'] as const) : (['tls', 'plain'] as const)) {
      const { cycles, tookMs } = await peers[peer].run({ name: `${name} ${peer}`, ...scenario }, durationMs);
      if (round > 0) speeds[peer].push((cycles * 1_000) / tookMs);
    }
  }
  const [plain, tls] = [median(speeds.plain), median(speeds.tls)];
  const ratio = tls / plain;
  const goal = goals[name] ?? 0;
  console.log(
    `${name.padEnd(10)} plain ${Math.round(plain)} cycles/s, TLS ${Math.round(tls)} cycles/s, ratio ${ratio.toFixed(2)}, goal ${goal}: ${ratio >= goal ? 'met' : 'NOT met'}`,
  );
}
console.log(
  `${rounds} rounds of ${durationMs / 1_000} s each, medians; load ${loadBefore.toFixed(1)} before, ${(loadavg()[0] ?? NaN).toFixed(1)} after`,
);
await Promise.all(Object.values(peers).map((peer) => peer.close()));

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}
