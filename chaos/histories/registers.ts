import { grouped, type History } from '../../lab/judge/folded-history.ts';
import type { Span } from './operation.ts';

/**
 * The reads and writes of each register. Each write has a number of its own, as Knossos needs it. Its token stands
 * beside it, for the rule of fencing.
 */
export function registerSpans(history: History): Map<string, Span[]> {
  const numbers = new Map([...history.writes.keys()].map((write, index) => [write, index + 1]));
  const writes = [...history.writes].map(([write, { acquire, sent, answered }]) => {
    const value = numbers.get(write);
    const type = answered === undefined ? 'info' : answered.accepted ? 'ok' : 'fail';
    const token = String(acquire.granted?.token ?? 0n);
    const to = answered?.t ?? Infinity;
    const span: Span = { f: 'write', from: sent.t, to, type, invoked: value, ended: value, notes: { token } };
    return { path: acquire.path, span };
  });
  const reads = history.acquires.flatMap(({ path, reads: all }) =>
    all.map(({ from, to, value }) => {
      const ended = value === '' ? null : (numbers.get(value) ?? unknownNumber);
      const span: Span = { f: 'read', from, to, type: 'ok', invoked: null, ended };
      return { path, span };
    }),
  );
  const paths = grouped([...writes, ...reads], ({ path }) => path);
  return new Map([...paths].map(([path, all]) => [path, all.map(({ span }) => span)]));
}

/** No write has it. */
const unknownNumber = -1;
