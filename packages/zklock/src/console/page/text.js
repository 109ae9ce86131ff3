/** A duration for people: `4s`, `2m 10s`, `3h 05m`, `2d 04h`. */
export function ageText(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor(seconds / 3_600) % 24;
  const minutes = Math.floor(seconds / 60) % 60;
  if (days > 0) return `${days}d ${twoDigits(hours)}h`;
  if (hours > 0) return `${hours}h ${twoDigits(minutes)}m`;
  return minutes > 0 ? `${minutes}m ${twoDigits(seconds % 60)}s` : `${seconds}s`;
}

/** The owner of a znode, as short as possible. */
export function whoText({ host, pid, sessionId, data, unreadableSince }) {
  if (unreadableSince !== null && sessionId === null) return 'not readable';
  const known = host === null ? (data ?? '') : pid === null ? host : `${host} pid ${pid}`;
  const session = sessionId === null ? ['owned by no session'] : known === '' ? [`session ${sessionId}`] : [];
  return shown([...(known === '' ? [] : [known]), ...session].join(', '));
}

/**
 * Characters that are invisible, or that change the direction of the text, are written as numbers. The data of a znode
 * come from any client, and may try to look like something else.
 */
export function shown(text) {
  return text.replace(
    // oxlint-disable-next-line no-control-regex -- those are the characters to find
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** An element with classes and text. Text is never markup. */
export function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

/** Writes only a text that differs, so that the browser has nothing to do for the others. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function twoDigits(value) {
  return String(value).padStart(2, '0');
}
