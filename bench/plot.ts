export interface Series {
  readonly name: string;
  readonly colour: string;
  readonly values: readonly (number | undefined)[];
}

const width = 720;
const height = 320;
const left = 80;
const bottom = 46;
const top = 50;

/** Groups of bars as an SVG file. The scale is logarithmic because the peers differ by orders of magnitude. */
export function bars(title: string, groups: readonly string[], series: readonly Series[]): string {
  const scale = logarithmic(series);
  const groupWidth = (width - left) / groups.length;
  const barWidth = (groupWidth * 0.8) / series.length;
  const shapes = series.flatMap(({ name, colour, values }, place) =>
    values.flatMap((value, group) => {
      if (value === undefined) return [];
      const x = left + group * groupWidth + groupWidth * 0.1 + place * barWidth;
      const y = scale(value);
      const label = `<text x="${(x + barWidth / 2).toFixed(1)}" y="${(y - 4).toFixed(1)}" font-size="10" text-anchor="middle">${short(value)}</text>`;
      return [
        `<rect x="${x.toFixed(1)}" y="${y.toFixed(1)}" width="${(barWidth - 2).toFixed(1)}" height="${(height - bottom - y).toFixed(1)}" fill="${colour}"><title>${name}: ${short(value)}</title></rect>${label}`,
      ];
    }),
  );
  return drawing(title, groups, series, shapes);
}

/** Lines over the same places as an SVG file, with a logarithmic scale. */
export function lines(title: string, places: readonly string[], series: readonly Series[]): string {
  const scale = logarithmic(series);
  const step = (width - left) / places.length;
  const shapes = series.map(({ colour, values }) => {
    const points = values.flatMap((value, index) =>
      value === undefined ? [] : [`${(left + (index + 0.5) * step).toFixed(1)},${scale(value).toFixed(1)}`],
    );
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="2"/>`;
  });
  return drawing(title, places, series, shapes);
}

function drawing(
  title: string,
  places: readonly string[],
  series: readonly Series[],
  shapes: readonly string[],
): string {
  const step = (width - left) / places.length;
  const names = places.flatMap((place, index) =>
    place
      .split(', ')
      .map(
        (part, line) =>
          `<text x="${(left + (index + 0.5) * step).toFixed(1)}" y="${height - bottom + 18 + line * 13}" font-size="11" text-anchor="middle">${part}</text>`,
      ),
  );
  const share = Math.min(190, (width - 16) / series.length);
  const legend = series.map(
    ({ name, colour }, index) =>
      `<rect x="${16 + index * share}" y="28" width="10" height="10" fill="${colour}"/><text x="${32 + index * share}" y="37" font-size="11">${name}</text>`,
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    `<text x="${left}" y="18" font-size="14">${title}</text>`,
    ...legend,
    `<line x1="${left}" y1="${height - bottom}" x2="${width}" y2="${height - bottom}" stroke="black"/>`,
    ...shapes,
    ...names,
    '</svg>\n',
  ].join('\n');
}

function logarithmic(series: readonly Series[]): (value: number) => number {
  const values = series.flatMap((one) => one.values).filter((value) => value !== undefined);
  const least = Math.log10(Math.min(...values)) - 0.3;
  const span = Math.max(0.1, Math.log10(Math.max(...values)) - least);
  return (value) => height - bottom - ((Math.log10(value) - least) / span) * (height - bottom - top);
}

function short(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(2);
}
