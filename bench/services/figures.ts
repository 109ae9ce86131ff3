/** The figure called `name` in the answer of ZooKeeper's `mntr`. NaN if it is absent. */
export function mntrFigure(answer: string, name: string): number {
  return Number(new RegExp(`^${name}\\s+([\\d.]+)`, 'm').exec(answer)?.[1] ?? NaN);
}

/** The figure called `name` in the answer of Redis' `INFO`. NaN if it is absent. */
export function infoFigure(answer: string, name: string): number {
  return Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(answer)?.[1] ?? NaN);
}

/** The sum of the metric `name` over all its labels, in the text format of Prometheus. */
export function metricSum(answer: string, name: string): number {
  const values = [...answer.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)`, 'gm'))];
  return values.reduce((all, [, value]) => all + Number(value), 0);
}
