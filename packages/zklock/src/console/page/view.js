/** The search, the filter and the order are kept in the address, so that a reload and a link show the same. */
const asked = new URLSearchParams(location.search);
const field = (id) => document.getElementById(id);
const countsDown = ['held', 'waiters', 'wait'];

/** The column by which the locks are sorted, and whether the greatest is the first. */
export const sort = { by: 'path', down: false };

for (const id of ['search', 'filter', 'sort']) choose(field(id), asked.get(id));
sortBy(field('sort').value, asked.has('reverse'));
for (const id of ['search', 'filter']) field(id).addEventListener('input', keep);
field('sort').addEventListener('input', ({ target }) => sortBy(target.value));

/** A second click on the same column turns its order around. */
export function sortBy(by, isReverse = false) {
  Object.assign(sort, { by, down: countsDown.includes(by) !== isReverse });
  field('sort').value = by;
  keep();
}

export function turnAround(by) {
  sortBy(by, sort.by === by && sort.down === countsDown.includes(by));
}

function keep() {
  const kept = new URLSearchParams();
  for (const id of ['search', 'filter']) if (field(id).value !== '') kept.set(id, field(id).value);
  if (sort.by !== 'path') kept.set('sort', sort.by);
  if (sort.down !== countsDown.includes(sort.by)) kept.set('reverse', '');
  history.replaceState(null, '', kept.size > 0 ? `?${kept}` : location.pathname);
}

/** An address may name a choice that does not exist. */
function choose(input, value) {
  if (value === null) return;
  const before = input.value;
  input.value = value;
  if (input.value !== value) input.value = before;
}
