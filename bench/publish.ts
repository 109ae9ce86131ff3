import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bars, lines } from './plot.ts';
import { tables } from './report.ts';
import { peerNames, speedOf, titles, type PeerName, type Results } from './results.ts';

/** Writes the results file, the pictures and the tables of `docs/performance.md` below the folder `root`. */
export function publish(results: Results, root: string): void {
  const here = (path: string): string => join(root, path);
  mkdirSync(here('bench/results'), { recursive: true });
  mkdirSync(here('docs/plots'), { recursive: true });
  writeFileSync(here(`bench/results/${results.date.slice(0, 10)}.json`), `${JSON.stringify(results, null, 2)}\n`);
  const drawn = { scenarios: isNear, links: (name: string) => !isNear(name) };
  for (const [file, isDrawn] of Object.entries(drawn)) {
    const names = Object.keys(results.scenarios).filter(isDrawn);
    const series = peerNames
      .map((peer) => ({
        name: titles[peer].replace('appendfsync ', ''),
        colour: colours[peer],
        values: names.map((name) => speedOf(results, name, peer)),
      }))
      .filter(({ values }) => values.some((value) => value !== undefined));
    writeFileSync(here(`docs/plots/${file}.svg`), bars('Cycles of acquire and release a second', names, series));
  }
  for (const [kind, points] of Object.entries(results.more?.growth ?? {})) {
    const values = points.map(({ ours }) => ours.cyclesPerSecond);
    const title = `Cycles a second of one lock, by ${kind}`;
    writeFileSync(
      here(`docs/plots/${kind}.svg`),
      lines(
        title,
        points.map(({ name }) => name),
        [{ name: 'zookeeper-fair-lock', colour: '#2b6cb0', values }],
      ),
    );
  }
  const page = here('docs/performance.md');
  const [before = '', , after = ''] = readFileSync(page, 'utf8').split(/<!-- (?:results|end of results) -->/);
  writeFileSync(
    page,
    `${before}<!-- results -->\n\n${tables(results)}\n\n![Cycles a second over links and on an ensemble](plots/links.svg)\n\n<!-- end of results -->${after}`,
  );
}

function isNear(name: string): boolean {
  return !name.includes(',');
}

const colours: Readonly<Record<PeerName, string>> = {
  ours: '#2b6cb0',
  curator: '#c05621',
  raw: '#718096',
  'redlock always': '#9b2c2c',
  'redlock everysec': '#fc8181',
  etcd3: '#2f855a',
};
