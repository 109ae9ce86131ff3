import { goals, rawOf } from './scenarios.ts';
import { speedOf, type PeerName, type Results } from './results.ts';

/** The tables of `docs/performance.md`. */
export function tables(results: Results): string {
  return [
    heading(results),
    speeds(results),
    ratios(results),
    costs(results),
    stickiness(results),
    growths(results),
  ].join('\n\n');
}

function heading(results: Results): string {
  const versions = Object.entries(results.versions).map(([name, version]) => `${name} ${version}`);
  const skipped = Object.entries(results.skipped).map(([peer, why]) => `${peer} was skipped: ${why}`);
  return [
    `Measured on ${results.date.slice(0, 10)}: ${results.machine}; ${versions.join(', ')}; ${results.rounds} rounds of ${results.secondsOfRun} s, interleaved in one run on one server; load of the machine before it: ${results.loadBefore.toFixed(2)}.`,
    `Heap per waiter at 10,000 in one process: ${(results.heapBytesPerWaiter / 1_024).toFixed(2)} KB.`,
    ...skipped,
  ].join(' ');
}

function speeds(results: Results): string {
  const row = (scenario: string): string[] => [scenario, ...peers.map((peer) => speed(results, scenario, peer))];
  return table(
    ['cycles a second: median (slowest–fastest)', ...peers.map(titleOf)],
    Object.keys(results.scenarios).map(row),
  );
}

function speed(results: Results, scenario: string, peer: PeerName): string {
  const summary = results.scenarios[scenario]?.[peer];
  return summary === undefined
    ? '–'
    : `${whole(summary.cyclesPerSecond)} (${whole(summary.slowest)}–${whole(summary.fastest)})`;
}

function ratios(results: Results): string {
  const rows = goals.map(({ scenario, againstCurator, againstRaw }) => [
    scenario,
    ratio(speedOf(results, scenario, 'ours'), speedOf(results, scenario, 'curator'), againstCurator),
    ratio(speedOf(results, scenario, 'ours'), speedOf(results, rawOf[scenario] ?? scenario, 'raw'), againstRaw),
  ]);
  return table(['ratio of medians (goal)', 'against Java Curator', 'against raw requests'], rows);
}

function ratio(ours: number | undefined, theirs: number | undefined, goal: number | undefined): string {
  if (ours === undefined || theirs === undefined) return '–';
  return `${(ours / theirs).toFixed(2)}${goal === undefined ? '' : ` (≥ ${goal})`}`;
}

function costs(results: Results): string {
  const rows = Object.entries(results.scenarios).flatMap(([scenario, byPeer]) =>
    peers.flatMap((peer) => {
      const summary = byPeer[peer];
      if (summary === undefined) return [];
      const {
        requestsPerCycle,
        bytesPerCycle,
        cpuMicrosPerCycle,
        handOverP50Ms = NaN,
        handOverP99Ms = NaN,
        luck = NaN,
        writerWaitMs = NaN,
      } = summary;
      return [
        [
          scenario,
          titleOf(peer),
          requestsPerCycle.toFixed(1),
          whole(bytesPerCycle),
          whole(cpuMicrosPerCycle),
          fixed(handOverP50Ms),
          fixed(handOverP99Ms),
          fixed(luck),
          fixed(writerWaitMs),
        ],
      ];
    }),
  );
  return table(
    [
      '',
      'peer',
      'requests a cycle',
      'bytes sent a cycle',
      'CPU a cycle, µs',
      'hand-over p50, ms',
      'p99, ms',
      'luckiest / unluckiest',
      'the writer waits, ms',
    ],
    rows,
  );
}

function stickiness({ sticky, scenarios }: Results): string {
  const { solo, threads64, contended } = sticky;
  const row = (
    name: string,
    { cyclesPerSecond, loopDelayP99Ms, remoteServedMs }: typeof solo,
    curator: number | undefined,
  ): string[] => [
    name,
    whole(cyclesPerSecond),
    curator === undefined ? '–' : whole(cyclesPerSecond / curator),
    fixed(loopDelayP99Ms),
    fixed(remoteServedMs),
  ];
  const rows = [
    row('solo', solo, scenarios['solo']?.curator?.cyclesPerSecond),
    row('threads 64', threads64, scenarios['threads 64']?.curator?.cyclesPerSecond),
  ];
  return [
    table(
      [
        'sticky',
        'cycles a second',
        '× Java Curator',
        'event-loop delay p99, ms',
        'a remote waiter is served after (median), ms',
      ],
      rows,
    ),
    `Two clients that contend all the time: ${fixed(contended.ratio)} of the cycles that they make without sticky; the luckier one has ${fixed(contended.luck)} × the grants of the other.`,
  ].join('\n\n');
}

function growths({ growth }: Results): string {
  const part = (title: string, points: Results['growth']['waiters']): string =>
    table(
      [title, 'cycles a second', 'CPU a cycle, µs', 'hand-over p50, ms', 'p99, ms'],
      points.map(({ name, ours }) => [
        name,
        whole(ours.cyclesPerSecond),
        whole(ours.cpuMicrosPerCycle),
        fixed(ours.handOverP50Ms ?? NaN),
        fixed(ours.handOverP99Ms ?? NaN),
      ]),
    );
  return [
    part('waiters in one process, one lock', growth.waiters),
    part('sessions, one waiter each, one lock', growth.sessions),
  ].join('\n\n');
}

const peers: readonly PeerName[] = ['ours', 'curator', 'raw'];

function titleOf(peer: PeerName): string {
  return { ours: 'zookeeper-fair-lock', curator: 'Java Curator', raw: 'raw requests' }[peer];
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function fixed(value: number): string {
  return Number.isNaN(value) ? '–' : value.toFixed(2);
}
