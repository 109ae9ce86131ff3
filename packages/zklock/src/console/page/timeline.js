import { element, setText, shown, whoText } from './text.js';

const minutes = 10;
const mostListed = 100;
const verbs = {
  granted: 'was granted to',
  'handed-over': 'was handed over to',
  released: 'was released by',
  asked: 'was asked back from',
  taken: 'was taken from',
  lost: 'was lost by',
};
let painted = '';
let listed = -1;

/** Removes the events that are too old. Returns true if there were any. */
export function pruneEvents(model) {
  const oldest = Date.now() + model.clockAheadMs - minutes * 60_000;
  const before = model.events.length;
  model.events = model.events.filter(({ at }) => Date.parse(at) > oldest);
  return model.events.length !== before;
}

/** Paints the strip, and the list if it is open. */
export function showEvents(model) {
  pruneEvents(model);
  showStrip(model);
  setText(document.getElementById('event-count'), `(${model.events.length})`);
  const box = document.getElementById('events-box');
  if (box.open) showList(model);
}

document.getElementById('events-box').addEventListener('toggle', () => {
  listed = -1;
  document.dispatchEvent(new CustomEvent('rendernow'));
});

/**
 * One bar for each five seconds, red if there is a loss among its events. The heights are logarithms, so that the
 * thousand events of an outage do not flatten the others.
 */
function showStrip({ events, clockAheadMs }) {
  const slots = 120;
  const slotMs = (minutes * 60_000) / slots;
  const end = Math.floor((Date.now() + clockAheadMs) / slotMs) + 1;
  const counts = Array.from({ length: slots }, () => ({ all: 0, bad: 0 }));
  for (const { at, type } of events) {
    const slot = counts[slots - (end - Math.floor(Date.parse(at) / slotMs))];
    if (!slot) continue;
    slot.all += 1;
    if (type === 'lost' || type === 'taken') slot.bad += 1;
  }
  const key = counts.map(({ all, bad }) => `${all},${bad}`).join(' ');
  if (key === painted) return;
  painted = key;
  const highest = Math.max(4, ...counts.map(({ all }) => all));
  const bars = counts.flatMap(({ all, bad }, index) => (all === 0 ? [] : [bar(index, all, bad, highest)]));
  document.getElementById('strip').replaceChildren(...bars);
}

function bar(index, all, bad, highest) {
  const rect = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  const height = 4 + (36 * Math.log1p(all)) / Math.log1p(highest);
  for (const [name, value] of Object.entries({ x: index * 5, y: 40 - height, width: 4, height, rx: 1 }))
    rect.setAttribute(name, String(value));
  rect.setAttribute('class', bad > 0 ? 'bad' : 'good');
  return rect;
}

/** The newest first. Only new events are made, so that a reader keeps the place. */
function showList({ events }) {
  const newest = events.slice(-mostListed).reverse();
  const key = newest.length === 0 ? 0 : `${newest.length} ${newest[0].at} ${newest[0].path} ${events.length}`;
  if (key === listed) return;
  listed = key;
  document.getElementById('events').replaceChildren(...newest.map(eventItem));
}

function eventItem({ at, path, type, from, to, duringOutage }) {
  const item = element('li', type === 'lost' || type === 'taken' ? 'bad' : '');
  const time = element('time', '', new Date(at).toLocaleTimeString('en-GB'));
  time.dateTime = at;
  const who = type === 'granted' || type === 'handed-over' ? to : from;
  item.append(
    time,
    ' ',
    element('span', 'path', shown(path)),
    ` ${verbs[type]} `,
    element('b', '', who ? whoText(who) : '?'),
  );
  if (type === 'handed-over' && from) item.append(' by ', element('span', '', whoText(from)));
  if (duringOutage) item.append(element('span', 'note', ' during the outage'));
  return item;
}
