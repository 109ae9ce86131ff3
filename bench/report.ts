import { judge } from './goals.ts';
import { peerNames, titles, type MoreResults, type PeerName, type Results, type Summary } from './results.ts';

/** The tables of `docs/performance.md`. */
export function tables(results: Results): string {
  const { more } = results;
  return joined([
    heading(results),
    speeds(results, 'cycles a second (median)', median),
    handOvers(results),
    ...(more === undefined ? [] : [stickiness(more, results)]),
  ]);
}

/** Everything that `npm run bench` prints: also the spread of the rounds, the goals and the costs. */
export function report(results: Results): string {
  const { more } = results;
  return joined([
    heading(results),
    speeds(results, 'cycles a second: median (slowest–fastest)', spread),
    verdicts(results),
    costs(results),
    ...(more === undefined ? [] : [stickiness(more, results), growths(more)]),
  ]);
}

const joined = (parts: readonly string[]): string => parts.filter((part) => part !== '').join('\n\n');

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

function speeds(results: Results, heading: string, shown: (summary: Summary) => string): string {
  const peers = peerNames.filter((peer) =>
    Object.values(results.scenarios).some((byPeer) => byPeer[peer] !== undefined),
  );
  const rows = Object.entries(results.scenarios).map(([scenario, byPeer]) => [
    scenario,
    ...peers.map((peer) => (byPeer[peer] === undefined ? '–' : shown(byPeer[peer]))),
  ]);
  return table([heading, ...peers.map((peer) => titles[peer])], rows);
}

const median = ({ cyclesPerSecond }: Summary): string => whole(cyclesPerSecond);

const spread = (summary: Summary): string => `${median(summary)} (${whole(summary.slowest)}–${whole(summary.fastest)})`;

function handOvers({ scenarios }: Results): string {
  const shown = ['ours', 'curator'] as const;
  const rows = Object.entries(scenarios).flatMap(([scenario, byPeer]) =>
    byPeer.ours?.handOverP50Ms === undefined
      ? []
      : [
          [
            scenario,
            ...shown.flatMap((peer) => [
              fixed(byPeer[peer]?.handOverP50Ms ?? NaN),
              fixed(byPeer[peer]?.handOverP99Ms ?? NaN),
            ]),
          ],
        ],
  );
  return table(['hand-over, ms', ...shown.flatMap((peer) => [`${titles[peer]}, p50`, 'p99'])], rows);
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
    `Two clients that contend all the time: ${fixed(contended.ratio)} × the cycles that they make without sticky; the luckier one has ${fixed(contended.luck)} × the grants of the other.`,
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
