import { claimOf } from '../lab/judge/claim.ts';
import type { Fault, Granted, History } from '../lab/judge/folded-history.ts';
import { moment, type Violation } from '../lab/judge/violation.ts';

/**
 * The time range and the width. With details, each hold has a tooltip; without details, holds that fall on one pixel
 * are drawn once.
 */
interface View {
  readonly from: number;
  readonly to: number;
  readonly pxPerMs: number;
  readonly isDetailed: boolean;
}

const colours = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#999933', '#332288'];
const laneHeight = 8;
const laneGap = 8;
const labelRows = 4;
const labelHeight = 12;
const top = labelRows * labelHeight + 16;
/** A long history is drawn as a whole, and in detail up to this number of characters. */
const maxCharacters = 8_000_000;

/** A page without scripts: the whole run, then the time around each violation, and around the faults. */
export function picture(history: History, violations: readonly Violation[]): string {
  const { run, lastAt } = history;
  const durationMs = Math.max(1, lastAt - run.t);
  const pxPerMs = Math.min(0.2, Math.max(1_200 / durationMs, Math.min(0.04, 16_000 / durationMs)));
  const sections = [
    section('The whole run', history, violations, { from: run.t, to: lastAt, pxPerMs, isDetailed: false }),
  ];
  let size = sections.join('').length;
  for (const { title, from, to } of closeUps(history, violations)) {
    const drawn = section(title, history, violations, {
      from,
      to,
      pxPerMs: Math.max(0.2, 1_200 / (to - from)),
      isDetailed: true,
    });
    if (size + drawn.length > maxCharacters) break;
    size += drawn.length;
    sections.push(drawn);
  }
  const verdict = violations.length === 0 ? 'no violations' : `${violations.length} violations`;
  const paths = run.paths.map((path, index) => `<b style="color:${colourOf(index)}">${escaped(path)}</b>`).join(' ');
  const legend = `Bars are holds: ${paths}. Thin lines are waits, × is a loss, grey is a fault (darker on the clients that it hits), red lines are violations.`;
  const told = violations
    .slice(0, 100)
    .map(({ check, t, text }) => `<li>${moment(history, t)} <b>${check}</b> ${escaped(text)}</li>`);
  return `<!doctype html><meta charset="utf-8"><title>seed ${run.seed}: ${verdict}</title><style>${styles(run.paths)}</style>
<h1>seed ${run.seed}: ${verdict}</h1><p>${legend}</p><ol>${told.join('')}</ol>
${sections.join('\n')}\n`;
}

/** Violations first, then the faults, ordered so that each kind comes once before any comes twice. */
function closeUps(history: History, violations: readonly Violation[]): { title: string; from: number; to: number }[] {
  const distinct = violations
    .slice(0, 1_000)
    .filter(
      ({ check, t }, index) =>
        !violations.slice(0, index).some((other) => other.check === check && t - other.t < 2_000),
    );
  const seen = new Map<string, number>();
  const ranked = history.faults.map((fault) => {
    const rank = seen.get(fault.kind) ?? 0;
    seen.set(fault.kind, rank + 1);
    return { fault, rank };
  });
  return [
    ...distinct.slice(0, 20).map(({ check, t, text }) => ({
      title: `${moment(history, t)} ${check}: ${text}`,
      from: t - 2_000,
      to: t + 2_000,
    })),
    ...ranked
      .sort((a, b) => a.rank - b.rank)
      .map(({ fault: { fault, kind, target, beganAt, healedAt } }) => {
        const to = Math.min(healedAt, beganAt + 4 * history.run.sessionTimeoutMs, history.lastAt) + 2_000;
        return { title: `${moment(history, beganAt)} ${fault}: ${kind} ${target}`, from: beganAt - 1_000, to };
      }),
  ];
}

function section(title: string, history: History, violations: readonly Violation[], view: View): string {
  const { clients, paths } = history.run;
  const height = top + clients.length * (paths.length * laneHeight + laneGap) + 8;
  const width = Math.ceil((view.to - view.from) * view.pxPerMs);
  const names = clients
    .map((client, index) => `<text x="4" y="${laneY(history, index, 0) + 10}">${escaped(client)}</text>`)
    .join('');
  const behind = bands(history, view, height) + axis(history, view, height);
  const drawn =
    behind + clients.map((client) => lanes(client, history, view)).join('') + marks(history, violations, view, height);
  const gutter = `<svg class="names" width="60" height="${height}">${names}</svg>`;
  return `<h2>${escaped(title)}</h2><div class="strip">${gutter}<svg width="${width}" height="${height}">${drawn}</svg></div>`;
}

function bands(history: History, view: View, height: number): string {
  const { clients, paths } = history.run;
  const ends: number[] = Array.from({ length: labelRows }, () => -Infinity);
  return history.faults
    .filter(({ beganAt, healedAt }) => beganAt <= view.to && healedAt >= view.from)
    .map((fault) => {
      const x = xOf(view, fault.beganAt);
      const width = Math.max(1, rounded(xOf(view, fault.healedAt) - x));
      const label = labelOf(fault);
      // In the first row with enough room, or else over the last label.
      const labelX = Math.max(x, 0) + 2;
      const free = ends.findIndex((end) => end <= labelX);
      const row = free < 0 ? labelRows - 1 : free;
      ends[row] = labelX + label.length * 6;
      const hit = clients.map((client, index) =>
        fault.clients.includes(client)
          ? `<rect class="hit" x="${x}" y="${laneY(history, index, 0)}" width="${width}" height="${paths.length * laneHeight}"/>`
          : '',
      );
      const band = `<rect class="fault" x="${x}" y="0" width="${width}" height="${height}"/>${hit.join('')}`;
      const name = `<text x="${labelX}" y="${(row + 1) * labelHeight - 2}">${escaped(label)}</text>`;
      return `<g><title>${escaped(`${label} ${moment(history, fault.beganAt)}`)}</title>${band}${name}</g>`;
    })
    .join('');
}

function labelOf({ fault, kind, target }: Fault): string {
  return `${fault} ${kind} ${target.split('/').at(-1) ?? ''}`;
}

function axis(history: History, view: View, height: number): string {
  const { t } = history.run;
  const stepMs =
    [100, 500, 1_000, 5_000, 10_000, 60_000, 600_000].find((step) => step * view.pxPerMs >= 60) ?? 3_600_000;
  const ticks: string[] = [];
  for (let at = t + Math.ceil((view.from - t) / stepMs) * stepMs; at <= view.to; at += stepMs) {
    ticks.push(
      `<path class="tick" d="M${xOf(view, at)} ${top - 14}V${height}"/><text x="${xOf(view, at) + 2}" y="${top - 4}">${(at - t) / 1_000}</text>`,
    );
  }
  return ticks.join('');
}

function lanes(client: string, history: History, view: View): string {
  const index = history.run.clients.indexOf(client);
  return history.run.paths
    .map((path, lane) => {
      const y = laneY(history, index, lane) + laneHeight / 2;
      const calls = history.acquires.filter(
        (acquire) => acquire.path === path && acquire.incarnation.client === client,
      );
      const waits = calls.map(({ calledAt, granted, refused, incarnation }) =>
        span(view, calledAt, granted?.t ?? refused?.t ?? incarnation.killedAt ?? history.lastAt),
      );
      const holds = calls
        .filter((acquire): acquire is Granted => acquire.granted !== undefined)
        .map((acquire) => ({
          title: titleOf(acquire, history),
          at: span(view, acquire.granted.t, claimOf(acquire, history).to),
        }));
      const losses = calls.flatMap(({ lost }) => (lost && isIn(view, lost.t) ? [cross(xOf(view, lost.t), y)] : []));
      return `${pathOf('w', strokes(waits, y))}${bars(holds, y, lane, view)}${pathOf('x', losses.join(''))}`;
    })
    .join('');
}

function titleOf({ id, kind, granted }: Granted, history: History): string {
  return `${id} ${kind} token ${granted.token}, ${moment(history, granted.t)}`;
}

function bars(
  holds: readonly { title: string; at: Span | undefined }[],
  y: number,
  lane: number,
  { isDetailed }: View,
): string {
  if (!isDetailed)
    return pathOf(
      `p${lane}`,
      strokes(
        holds.map(({ at }) => at),
        y,
      ),
    );
  return holds
    .map(({ title, at }) =>
      at ? `<path class="p${lane}" d="${strokes([at], y)}"><title>${escaped(title)}</title></path>` : '',
    )
    .join('');
}

function marks(history: History, violations: readonly Violation[], view: View, height: number): string {
  return violations
    .filter(({ t }) => isIn(view, t))
    .slice(0, 500)
    .map(
      ({ check, t, text }) =>
        `<path class="v" d="M${xOf(view, t)} 0V${height}"><title>${escaped(`${moment(history, t)} ${check}: ${text}`)}</title></path>`,
    )
    .join('');
}

interface Span {
  readonly x: number;
  readonly width: number;
}

function span(view: View, from: number, to: number): Span | undefined {
  if (to < view.from || from > view.to || to < from) return undefined;
  const x = xOf(view, Math.max(from, view.from));
  return { x, width: rounded(Math.max(0.5, xOf(view, to) - x)) };
}

/** Spans side by side within one pixel become one. */
function strokes(spans: readonly (Span | undefined)[], y: number): string {
  let drawnTo = -Infinity;
  let path = '';
  for (const at of spans.filter((one) => one !== undefined).sort((a, b) => a.x - b.x)) {
    if (at.x + at.width <= drawnTo + 0.5) continue;
    path += `M${at.x} ${y}h${at.width}`;
    drawnTo = at.x + at.width;
  }
  return path;
}

function pathOf(kind: string, d: string): string {
  return d === '' ? '' : `<path class="${kind}" d="${d}"/>`;
}

function cross(x: number, y: number): string {
  return `M${rounded(x - 3)} ${y - 3}l6 6m-6 0l6 -6`;
}

function laneY({ run: { paths } }: History, client: number, lane: number): number {
  return top + client * (paths.length * laneHeight + laneGap) + lane * laneHeight;
}

function isIn(view: View, t: number): boolean {
  return t >= view.from && t <= view.to;
}

function xOf(view: View, t: number): number {
  return rounded((Math.min(t, view.to) - view.from) * view.pxPerMs);
}

function rounded(px: number): number {
  return Math.round(px * 10) / 10;
}

function colourOf(path: number): string {
  return colours[path % colours.length] ?? 'black';
}

function styles(paths: readonly string[]): string {
  const holds = paths.map((_, index) => `.p${index}{stroke:${colourOf(index)};stroke-width:6}`).join('');
  const rules = [
    'body{font:13px sans-serif;margin:8px}h2{font-size:13px;margin:16px 0 4px}',
    '.strip{overflow-x:auto;display:flex;border:1px solid #ccc}.names{position:sticky;left:0;background:#fff}',
    'svg{flex:none}text{font-size:10px}path{fill:none}.tick{stroke:#ddd}',
    '.w{stroke:#888;stroke-width:1}.x{stroke:#000;stroke-width:1.5}.v{stroke:#f00;stroke-width:1.5}',
    '.fault{fill:#000;fill-opacity:.05}.hit{fill:#000;fill-opacity:.12}',
  ];
  return [...rules, holds].join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
