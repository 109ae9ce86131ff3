import { judge } from './goals.ts';
import { promises } from './promises.ts';
import { peerNames, titles, type MoreResults, type PeerName, type Results } from './results.ts';

/** The tables of `docs/performance.md`. */
export function tables(results: Results): string {
  const { more } = results;
  return [
    heading(results),
    speeds(results),
    verdicts(results),
    promised(results),
    costs(results),
    ...(more === undefined ? [] : [stickiness(more, results), growths(more)]),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

function heading(results: Results): string {
  const versions = Object.entries(results.versions).map(([name, version]) => `${name} ${version}`);
  const skipped = Object.entries(results.skipped).map(([peer, why]) => `${peer} was skipped: ${why} is missing.`);
  const { more } = results;
  return [
    `Measured on ${results.date.slice(0, 10)}: ${results.machine}; ${versions.join(', ')}; ${results.rounds} rounds of ${results.secondsOfRun} s, interleaved in one run; load of the machine before it: ${results.loadBefore.toFixed(2)}.`,
    ...(more === undefined
      ? []
      : [`Heap per waiter at 10,000 in one process: ${(more.heapBytesPerWaiter / 1_024).toFixed(2)} KB.`]),
    ...skipped,
  ].join(' ');
}

function speeds(results: Results): string {
  const peers = measured(results);
  const row = (scenario: string): string[] => [scenario, ...peers.map((peer) => speed(results, scenario, peer))];
  return table(
    ['cycles a second: median (slowest–fastest)', ...peers.map((peer) => titles[peer])],
    Object.keys(results.scenarios).map(row),
  );
}

function speed(results: Results, scenario: string, peer: PeerName): string {
  const summary = results.scenarios[scenario]?.[peer];
  return summary === undefined
    ? '–'
    : `${whole(summary.cyclesPerSecond)} (${whole(summary.slowest)}–${whole(summary.fastest)})`;
}

function verdicts(results: Results): string {
  const rows = judge(results).map(({ scenario, figure, against, bound, reached, limit, isMet }) => [
    scenario,
    figure === 'speed' ? 'cycles a second' : 'CPU a cycle',
    titles[against],
    `${figure === 'speed' ? '≥' : '≤'} ${bound}`,
    reached.toFixed(2),
    limit.toFixed(2),
    isMet ? 'yes' : 'no',
  ]);
  if (rows.length === 0) return '';
  return table(['scenario', 'ratio of', 'against', 'goal', 'this library', 'raw requests', 'met'], rows);
}

/** A figure is worth what the lock promises, so both stand in one table. */
function promised(results: Results): string {
  const shown = ['hand-off 8', 'hand-off 8, 5 ms links'].filter((scenario) => scenario in results.scenarios);
  const rows = measured(results).flatMap((peer) => {
    const promise = promises[peer];
    if (promise === undefined) return [];
    const { order, loss, crash, token } = promise;
    const figures = shown.map((scenario) => speed(results, scenario, peer));
    return [[titles[peer], ...figures, order, loss, crash, token]];
  });
  return table(
    [
      'what each lock promises',
      ...shown.map((scenario) => `${scenario}, cycles a second`),
      'order of the waiters',
      'the holder learns of a loss by',
      'a crash of servers costs',
      'fencing token',
    ],
    rows,
  );
}

function measured(results: Results): readonly PeerName[] {
  return peerNames.filter((peer) => Object.values(results.scenarios).some((byPeer) => byPeer[peer] !== undefined));
}

function costs(results: Results): string {
  const rows = Object.entries(results.scenarios).flatMap(([scenario, byPeer]) =>
    peerNames.flatMap((peer) => {
      const summary = byPeer[peer];
      if (summary === undefined || !isCostShown(scenario, peer)) return [];
      const {
        requestsPerCycle,
        cpuMicrosPerCycle,
        handOverP50Ms = NaN,
        handOverP99Ms = NaN,
        luck = NaN,
        writerWaitMs = NaN,
      } = summary;
      return [
        [
          scenario,
          titles[peer],
          requestsPerCycle.toFixed(1),
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
      'CPU a cycle, µs',
      'hand-over p50, ms',
      'p99, ms',
      'luckiest / unluckiest',
      'the writer waits, ms',
    ],
    rows,
  );
}

/** One scenario shows how redlock and etcd3 choose the next owner. The file of the results has all costs. */
const isCostShown = (scenario: string, peer: PeerName): boolean =>
  ['ours', 'curator'].includes(peer) || (scenario === 'hand-off 8' && peer !== 'raw');

function stickiness({ sticky }: MoreResults, { scenarios }: Results): string {
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

function growths({ growth }: MoreResults): string {
  const part = (title: string, points: MoreResults['growth']['waiters']): string =>
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

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en');
}

function fixed(value: number): string {
  return Number.isNaN(value) ? '–' : value.toFixed(2);
}
