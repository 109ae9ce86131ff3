/**
 * The mutants for a change, at most `most`: every `sample`-th of all in any case; then those whose line is in a changed file
 * or whose tests are; then the others of the changed rooms. A list that is too long is thinned evenly.
 */
export function choose(mutants, changed, { most, sample }) {
  const rooms = new Set(changed.map(roomOf));
  const isSampled = (_, at) => at % sample === 0;
  const isTouched = ({ file, tests }) => changed.includes(file) || tests.files.some((test) => changed.includes(test));
  const isInRoom = ({ file }) => rooms.has(roomOf(file));
  const chosen = new Set();
  for (const wanted of [isSampled, isTouched, isInRoom]) {
    const more = mutants.filter((mutant, at) => wanted(mutant, at) && !chosen.has(mutant));
    for (const mutant of thinned(more, most - chosen.size)) chosen.add(mutant);
  }
  return mutants.filter((mutant) => chosen.has(mutant));
}

/** Its folder: `src/client/options.ts` is in `src/client`. */
function roomOf(file) {
  return file.split('/').slice(0, 2).join('/');
}

function thinned(list, most) {
  if (list.length <= most) return list;
  return Array.from({ length: Math.max(0, most) }, (_, at) => list[Math.floor((at * list.length) / most)]);
}
