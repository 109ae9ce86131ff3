import { ask } from './control.js';
import { element, shown, whoText } from './text.js';

/** The cell with all holders and waiters of a lock. */
export function detailsOf(lock, model) {
  const cell = element('td');
  cell.colSpan = 7;
  const list = element('ul', 'participants');
  list.append(...lock.holders.map((one) => participant(one, lock, model)));
  list.append(...lock.waiters.map((one) => participant(one, lock, model)));
  cell.append(list);
  const hidden = lock.holderCount + lock.waiterCount - lock.holders.length - lock.waiters.length;
  if (lock.otherCount > 0)
    cell.append(element('p', 'others', `Other znodes, which are no participants of this lock: ${lock.otherCount}`));
  const link = element('a', '', hidden > 0 ? `JSON with ${hidden} more` : 'JSON');
  link.href = `api/locks?path=${encodeURIComponent(lock.path)}`;
  cell.append(link);
  return cell;
}

function participant(one, lock, model) {
  const item = element('li', one.position === 0 ? 'holds' : '');
  const head = element('div', 'head');
  head.append(element('b', '', one.position === 0 ? 'holds' : `waits, ${ordinal(one.position)}`));
  head.append(element('span', 'who', whoText(one)));
  for (const text of [one.role, one.weight === null ? null : `weight ${one.weight}`, one.isIdle ? 'idle' : null])
    if (text !== null) head.append(element('span', 'badge', text));
  if (one.asked !== null) head.append(element('span', 'badge asked', 'asked to release'));
  const facts = element('dl');
  if (one.unreadableSince !== null) facts.append(since('not readable', one.unreadableSince, 'for '));
  if (one.position === 0 && one.queuedAt !== null)
    facts.append(
      since('held', one.heldSince ?? one.queuedAt, one.heldSince === null ? '≤ ' : ''),
      fact('token', one.fencingToken ?? '–'),
    );
  if (one.queuedAt !== null)
    facts.append(since('in the queue', one.queuedAt, ''), fact('session', one.sessionId ?? unowned));
  // The data of a known process say only which one it is.
  if (one.pid === null && one.data) facts.append(fact('data', shown(one.data)));
  facts.append(fact('znode', shown(one.path), 'znode'));
  head.append(facts);
  item.append(head);
  // Nobody can release a znode that no session owns.
  if (model.allowRevoke && one.sessionId !== null) head.append(buttons(one, lock));
  return item;
}

const unowned = 'none, so it never goes by itself: delete the znode if no program needs it';

function buttons(one, lock) {
  const bar = element('div', 'buttons');
  for (const what of ['revoke', 'release']) {
    const button = element(
      'button',
      what === 'release' ? 'danger' : '',
      what === 'revoke' ? 'Ask to release …' : 'Take away …',
    );
    button.type = 'button';
    button.setAttribute('aria-label', `${button.textContent.replace(' …', '')}: ${whoText(one)}, ${shown(lock.path)}`);
    button.addEventListener('click', () => ask(what, one, lock));
    bar.append(button);
  }
  return bar;
}

function fact(name, text, className) {
  const pair = element('div', className);
  pair.append(element('dt', '', name), element('dd', className === 'znode' ? 'path' : '', text));
  return pair;
}

function since(name, at, prefix) {
  const pair = fact(name, '');
  Object.assign(pair.lastElementChild.dataset, { since: at, prefix });
  return pair;
}

function ordinal(number) {
  const suffix = { 1: 'st', 2: 'nd', 3: 'rd' };
  return `${number}${(number % 100 > 10 && number % 100 < 14 ? undefined : suffix[number % 10]) ?? 'th'}`;
}
