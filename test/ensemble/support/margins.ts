/**
 * How long before the next grant the holders were told, for each kind of fault; the smallest is printed after the last
 * test.
 */
const margins = new Map<string, number[]>();

export function recordMargin(fault: string, marginMs: number): void {
  margins.set(fault, [...(margins.get(fault) ?? []), marginMs]);
}

after(() => {
  if (margins.size === 0) return;
  const width = Math.max(...[...margins.keys()].map((fault) => fault.length));
  const row = (fault: string, losses: string, smallest: string): string =>
    `  ${fault.padEnd(width)}  ${losses.padStart(6)}  ${smallest.padStart(11)}`;
  const rows = [...margins].map(([fault, all]) => row(fault, `${all.length}`, `${Math.floor(Math.min(...all))} ms`));
  const note = '  (*) not told, because its code did not run: measured from its last look that found the hold valid';
  console.log(['\nTold before the next grant:', row('fault', 'losses', 'by at least'), ...rows, note].join('\n'));
});
