import { detailsOf } from './details.js';
import { ageText, element, setText, shown, whoText } from './text.js';
import { sort, turnAround } from './view.js';

/** The rows that were made, by the path of the lock. */
const rows = new Map();
const open = new Set();
const pageSize = 300;
let most = pageSize;
/** The wait that is shown in the colour of a warning. */
const longMs = 60_000;

const table = document.getElementById('locks');

document.querySelectorAll('th[data-sort]').forEach((head) => {
  head.querySelector('button').addEventListener('click', () => {
    turnAround(head.dataset.sort);
    again();
  });
});
document.getElementById('more').addEventListener('click', () => {
  most += pageSize;
  again();
});
for (const id of ['search', 'filter'])
  document.getElementById(id).addEventListener('input', () => {
    most = pageSize;
  });

/** The lock was changed: its row is filled anew when it is shown next. Its order is that of people: 2 before 10. */
export function setLock(lock) {
  lock.order = `${lock.path.replace(/\d+/g, (digits) => digits.padStart(20, '0'))} ${lock.path}`;
  const row = rows.get(lock.path);
  if (row) row.isOld = true;
}

export function forgetLock(path) {
  rows.get(path)?.nodes.forEach((node) => node.remove());
  rows.delete(path);
}

/** Shows the locks that fit the search, in their order. A row that has the focus keeps it. */
export function showLocks(model) {
  const now = Date.now() + model.clockAheadMs;
  const found = [...model.locks.values()].filter(isWanted).sort(comparator());
  const shownLocks = found.slice(0, most);
  const focused = document.activeElement;
  const visible = new Set(shownLocks.map(({ path }) => path));
  for (const [path, row] of rows) if (!visible.has(path)) row.nodes.forEach((node) => node.remove());
  let next = table.firstElementChild;
  for (const lock of shownLocks) {
    const row = rowOf(lock, model);
    fill(row, lock, model, now);
    for (const node of row.nodes) {
      if (node === next) next = next.nextElementSibling;
      else table.insertBefore(node, next);
    }
  }
  if (focused && focused !== document.activeElement && table.contains(focused)) focused.focus({ preventScroll: true });
  showHeads();
  showRest(model, found.length);
}

/** Once a second: only the texts that have changed are written. */
export function showAges(model) {
  const now = Date.now() + model.clockAheadMs;
  for (const [path, row] of rows) {
    const lock = model.locks.get(path);
    if (lock && row.nodes[0].isConnected) fillAges(row, lock, now);
  }
}

function again() {
  document.dispatchEvent(new CustomEvent('rendernow'));
}

function isWanted(lock) {
  const filter = document.getElementById('filter').value;
  if (filter === 'waiting' ? lock.waiterCount === 0 : filter !== '' && lock.state !== filter) return false;
  const words = document.getElementById('search').value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text = [
    lock.path,
    lock.kind,
    lock.state,
    ...[...lock.holders, ...lock.waiters].flatMap((one) => [
      one.host,
      one.pid,
      one.data,
      one.sessionId,
      one.fencingToken,
    ]),
  ]
    .join(' ')
    .toLowerCase();
  return words.every((word) => text.includes(word));
}

function comparator() {
  const keys = {
    path: ({ order }) => order,
    state: ({ state }) => state,
    holder: ({ holders: [first] }) => (first ? whoText(first) : '\uffff'),
    held: ({ holders: [first] }) => timeKey(first?.heldSince ?? first?.queuedAt),
    waiters: ({ waiterCount }) => waiterCount,
    wait: ({ waiters: [first] }) => timeKey(first?.queuedAt),
  };
  const key = keys[sort.by];
  const sign = sort.down ? -1 : 1;
  return (a, b) => {
    const [one, other] = [key(a), key(b)];
    if (one !== other) return one < other ? -sign : sign;
    return a.order < b.order ? -1 : 1;
  };
}

/** The longest first. A time that is not known comes last. */
function timeKey(at) {
  return typeof at === 'string' ? -Date.parse(at) : -Infinity;
}

function rowOf(lock, model) {
  const known = rows.get(lock.path);
  if (known) return known;
  const tr = element('tr');
  const cells = {};
  for (const [name, label] of Object.entries(labels)) {
    const cell = element(
      name === 'path' ? 'th' : 'td',
      isNumber.has(name) ? 'number' : name === 'path' ? 'lock' : name,
    );
    cell.dataset.label = label;
    cells[name] = cell;
    tr.append(cell);
  }
  cells.path.scope = 'row';
  const button = element('button', 'path', shown(lock.path));
  button.type = 'button';
  const details = element('tr', 'details');
  details.id = `details-${(nextId += 1)}`;
  details.hidden = true;
  button.setAttribute('aria-controls', details.id);
  button.setAttribute('aria-expanded', 'false');
  // The whole row opens, but not at the end of a selection of its text.
  tr.addEventListener('click', ({ target }) => {
    if (target !== button && !document.getSelection().isCollapsed) return;
    if (!open.delete(lock.path)) open.add(lock.path);
    row.isOld = true;
    again();
  });
  cells.path.append(button, element('span', 'kind', lock.kind));
  const row = { nodes: [tr, details], cells, button, details, isOld: true, hasRights: model.allowRevoke };
  rows.set(lock.path, row);
  return row;
}

let nextId = 0;

const labels = {
  path: 'Lock',
  state: 'State',
  holder: 'Holder',
  held: 'Held',
  waiters: 'Waiting',
  wait: 'Longest wait',
  token: 'Token',
};
const isNumber = new Set(['held', 'waiters', 'wait', 'token']);

function fill(row, lock, model, now) {
  if (row.isOld || row.hasRights !== model.allowRevoke) {
    row.isOld = false;
    row.hasRights = model.allowRevoke;
    const { cells } = row;
    const [first] = lock.holders;
    const kind = cells.path.querySelector('.kind');
    setText(kind, lock.kind);
    cells.state.replaceChildren(element('span', `badge ${lock.state}`));
    if (lock.holders.some(({ asked }) => asked !== null))
      cells.state.append(element('span', 'badge asked', 'asked to release'));
    const more = lock.holderCount > 1 ? ` +${lock.holderCount - 1}` : '';
    cells.holder.replaceChildren(...(first ? [element('span', 'who', `${whoText(first)}${more}`)] : ['–']));
    if (first && first.host !== null && first.pid === null && first.data !== first.host && first.data)
      cells.holder.append(element('span', 'data', shown(first.data)));
    setText(cells.waiters, String(lock.waiterCount));
    cells.waiters.classList.toggle('some', lock.waiterCount > 0);
    setText(cells.token, first?.fencingToken ?? '–');
    const isOpen = open.has(lock.path);
    row.button.setAttribute('aria-expanded', String(isOpen));
    row.details.hidden = !isOpen;
    row.details.replaceChildren(...(isOpen ? [detailsOf(lock, model)] : []));
  }
  fillAges(row, lock, now);
}

function fillAges({ cells, details }, { state, unreadableSince, holders: [holder], waiters: [waiter] }, now) {
  const text = unreadableSince === null ? state : `not readable for ${ageText(now - Date.parse(unreadableSince))}`;
  setText(cells.state.firstElementChild, text);
  setText(cells.held, holder ? heldText(holder, now) : '–');
  cells.wait.classList.toggle(
    'long',
    typeof waiter?.queuedAt === 'string' && now - Date.parse(waiter.queuedAt) >= longMs,
  );
  setText(cells.wait, !waiter ? '–' : waiter.queuedAt === null ? '?' : ageText(now - Date.parse(waiter.queuedAt)));
  if (details.hidden) return;
  for (const cell of details.querySelectorAll('[data-since]'))
    setText(cell, `${cell.dataset.prefix}${ageText(now - Date.parse(cell.dataset.since))}`);
}

/** `≤`: the grant was not seen, so the holder's time in the queue may be part of the age. */
function heldText({ heldSince, queuedAt }, now) {
  if (heldSince !== null) return ageText(now - Date.parse(heldSince));
  return queuedAt === null ? '?' : `≤ ${ageText(now - Date.parse(queuedAt))}`;
}

function showHeads() {
  for (const head of document.querySelectorAll('th[data-sort]')) {
    if (head.dataset.sort === sort.by) head.setAttribute('aria-sort', sort.down ? 'descending' : 'ascending');
    else head.removeAttribute('aria-sort');
  }
}

function showRest({ locks, state, unreadableCount }, found) {
  const empty = document.getElementById('empty');
  empty.hidden = found > 0 || state.is === 'reading';
  const none = unreadableCount === 0 ? 'There are no locks.' : 'No lock can be shown.';
  setText(empty, locks.size === 0 ? none : 'No lock fits the search.');
  const more = document.getElementById('more');
  more.hidden = found <= most;
  setText(more, `Show more: ${Math.max(0, found - most)} locks are hidden`);
}
