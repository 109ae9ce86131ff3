import { showEvents, pruneEvents } from './timeline.js';
import { showLocks, showAges, forgetLock, setLock } from './locks.js';
import { ageText, setText, shown } from './text.js';

/** The state of the page: what the last messages of the console's server said. */
const model = {
  locks: new Map(),
  events: [],
  state: { is: 'reading', since: null },
  unreadable: [],
  unreadableCount: 0,
  allowRevoke: false,
  clockAheadMs: 0,
};
let link = 'connecting';
let isRenderDue = false;

follow();

function follow() {
  const source = new EventSource('api/events');
  source.addEventListener('snapshot', (message) => {
    const snapshot = JSON.parse(message.data);
    const before = model.locks;
    model.locks = new Map(snapshot.locks.map((lock) => [lock.path, lock]));
    for (const path of before.keys()) if (!model.locks.has(path)) forgetLock(path);
    for (const lock of snapshot.locks) setLock(lock);
    model.events = snapshot.events;
    model.allowRevoke = snapshot.allowRevoke;
    setText(document.getElementById('root'), snapshot.root === '/' ? '' : `below ${snapshot.root}`);
    received(snapshot);
  });
  source.addEventListener('change', (message) => {
    const change = JSON.parse(message.data);
    for (const lock of change.locks) {
      model.locks.set(lock.path, lock);
      setLock(lock);
    }
    for (const path of change.gone) {
      model.locks.delete(path);
      forgetLock(path);
    }
    model.events.push(...change.events);
    received(change);
  });
  // The browser connects again by itself, and then gets a new snapshot, but not after a refusal such as 503.
  source.addEventListener('error', () => {
    if (source.readyState === EventSource.CLOSED) setTimeout(follow, 10_000);
    link = 'down';
    render();
  });
}

for (const id of ['search', 'filter', 'sort'])
  document.getElementById(id).addEventListener('input', () => renderSoon());
document.addEventListener('keydown', (event) => {
  const search = document.getElementById('search');
  if (event.key === '/' && !/^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName ?? '')) {
    event.preventDefault();
    search.focus();
  } else if (event.key === 'Escape' && document.activeElement === search && search.value !== '') {
    search.value = '';
    search.dispatchEvent(new CustomEvent('input'));
  }
});
document.addEventListener('rendernow', () => renderSoon());
setInterval(() => {
  if (document.hidden) return;
  if (pruneEvents(model)) renderSoon();
  else showEvents(model);
  showAges(model);
  showLink();
}, 1_000);
document.addEventListener('visibilitychange', () => renderSoon());

function received({ state, unreadable, unreadableCount, now }) {
  Object.assign(model, { state, unreadable, unreadableCount });
  model.clockAheadMs = Date.parse(now) - Date.now();
  link = 'up';
  renderSoon();
}

/** Several messages before the next frame are painted once. A hidden page paints nothing. */
function renderSoon() {
  if (isRenderDue) return;
  isRenderDue = true;
  requestAnimationFrame(render);
}

function render() {
  isRenderDue = false;
  showTotals();
  showEvents(model);
  showLocks(model);
  showLink();
}

function showLink() {
  const { is, since } = model.state;
  const cutOff = document.getElementById('cut-off');
  const age = since === null ? '' : ` for ${ageText(Date.now() + model.clockAheadMs - Date.parse(since))}`;
  const problem =
    link === 'down'
      ? 'The console’s server does not answer. This page may be old. It connects again by itself.'
      : is === 'cut-off'
        ? `The console is cut off from ZooKeeper${age}. What it shows may be old.`
        : '';
  const states = {
    live: 'live',
    incomplete: 'some znodes cannot be read',
    reading: 'reading …',
    'cut-off': 'cut off from ZooKeeper',
  };
  const state = document.getElementById('state');
  setText(state, link === 'up' ? states[is] : link === 'down' ? 'not connected' : 'connecting …');
  state.dataset.is = link === 'up' ? is : link;
  setText(cutOff, problem);
  cutOff.hidden = problem === '';
  showUnreadable();
  document.body.classList.toggle('old', problem !== '');
  // A holder that is shown may have gone meanwhile.
  for (const button of document.querySelectorAll('.participants button, #confirm-yes'))
    button.disabled = problem !== '';
}

/** A read of the text by a screen reader each second would disturb, so it is no live region. */
function showUnreadable() {
  const { unreadable, unreadableCount, clockAheadMs } = model;
  const now = Date.now() + clockAheadMs;
  const named = unreadable.map(({ path, since }) => `${shown(path)} (for ${ageText(now - Date.parse(since))})`);
  const rest = unreadableCount - named.length;
  const text = document.getElementById('unreadable');
  setText(text, `Not all is shown. Not readable: ${named.join(', ')}${rest > 0 ? `, and ${rest} more` : ''}`);
  text.hidden = unreadableCount === 0;
}

function showTotals() {
  let held = 0;
  let waiting = 0;
  for (const { holderCount, waiterCount, unreadableSince } of model.locks.values()) {
    held += holderCount > 0 && unreadableSince === null ? 1 : 0;
    waiting += waiterCount;
  }
  const count = (...types) => model.events.filter(({ type }) => types.includes(type)).length;
  const totals = {
    locks: model.locks.size,
    held,
    waiting,
    'hand-overs': count('handed-over'),
    losses: count('lost', 'taken'),
  };
  for (const [name, value] of Object.entries(totals))
    setText(document.getElementById(`total-${name}`), value.toLocaleString('en'));
  document.getElementById('total-losses').classList.toggle('bad', totals.losses > 0);
}
