/**
 * The text without characters that a terminal obeys or hides: control characters, and those that change the direction of
 * the text. Data and names of znodes come from any client, so they may try to write over the screen, or into a log.
 */
export function printable(text: string): string {
  return text.replace(unprintable, escaped);
}

/** The same for a text of several lines, and for JSON: it stays the same JSON. */
export function printableLines(text: string): string {
  return text.replace(unprintableInLine, escaped);
}

export function printableJson(value: unknown, indent?: number): string {
  return printableLines(JSON.stringify(value, null, indent));
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

// oxlint-disable-next-line no-control-regex -- those are the characters to find
const unprintable = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

const unprintableInLine = new RegExp(
  unprintable.source.replace('\\u0000-\\u001f', '\\u0000-\\u0009\\u000b-\\u001f'),
  'g',
);
