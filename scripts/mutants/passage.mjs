/**
 * Finds every occurrence of `find` in `text`, as [start, end], in whatever way the two are broken into lines. White
 * space between the characters does not count, and neither does a comma before a closing bracket, which a formatter
 * adds to long lists.
 */
export function passages(text, find) {
  const where = squeeze(text);
  const what = squeeze(find).characters;
  if (what === '') throw new RangeError('Expected find to be code, got only white space');
  const found = [];
  for (let at = where.characters.indexOf(what); at !== -1; at = where.characters.indexOf(what, at + 1)) {
    found.push([where.places[at], where.places[at + what.length - 1] + 1]);
  }
  return found;
}

/** Returns the text with the only occurrence of `find` replaced. Throws if `find` occurs never, or more than once. */
export function replacePassage(text, find, replacement) {
  const [only, ...others] = passages(text, find);
  if (!only || others.length > 0)
    throw new RangeError(`Expected this once, found it ${only ? others.length + 1 : 0} times:\n${find}`);
  return text.slice(0, only[0]) + replacement + text.slice(only[1]);
}

/** Returns the significant characters of a text, and the position of each. */
function squeeze(text) {
  const counts = /,(?=\s*[)\]}])|\s/g;
  let characters = '';
  const places = [];
  const left = text.replace(counts, (gap) => '\0'.repeat(gap.length));
  for (let at = 0; at < left.length; at++) {
    if (left[at] === '\0') continue;
    characters += left[at];
    places.push(at);
  }
  return { characters, places };
}
