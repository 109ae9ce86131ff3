/**
 * Deals out files to at most `count` lists of about the same weight: the heaviest file first, each to the lightest list.
 * The same files give the same lists, so that a failure that depends on the list can be repeated.
 */
export function deal(files, weightOf, count) {
  const lists = Array.from({ length: Math.min(count, files.length) }, () => ({ weight: 0, files: [] }));
  const heaviestFirst = [...files].sort((a, b) => weightOf(b) - weightOf(a) || (a < b ? -1 : 1));
  for (const file of heaviestFirst) {
    const lightest = lists.reduce((least, list) => (list.weight < least.weight ? list : least));
    lightest.files.push(file);
    lightest.weight += weightOf(file);
  }
  return lists.map((list) => list.files.sort());
}

/** False if tests were skipped only because a real server, or an old one, lacks what they need: `lab` and `needs` say so. */
export function couldRun({ lacks = [] }) {
  return lacks.length === 0 || !lacks.every((lack) => /^(ZooKeeper \S+ lacks|a real server imitates) /.test(lack));
}

/** Adds up results: those of test files, of processes or of suites. `lacks` says why tests were skipped. */
export function sumOf(results) {
  const sum = { passed: 0, failed: 0, skipped: 0, problems: [], lacks: [] };
  for (const { passed, failed, skipped, problems, lacks = [] } of results) {
    sum.passed += passed;
    sum.failed += failed;
    sum.skipped += skipped;
    sum.problems.push(...problems);
    sum.lacks.push(...lacks.filter((lack) => !sum.lacks.includes(lack)));
  }
  return sum;
}

/** The totals in the words of the closing line of `.ci/run`. */
export function wordsOf({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed, ${skipped} skipped`;
}
