const mark = /^(\s*(?:if \(.*\) )?)reached\('[^'\n]*'\);$/gm;
const imported = /^import \{ reached \} from '[^']*reached\.js';\n/m;

/**
 * Takes the calls of `reached` out of a source file. They mark courses of events for the simulation alone.
 *
 * @throws Error if a call is more than a statement of its own, or its name is not a plain string
 */
export function withoutReached(text) {
  if (!imported.test(text)) return text;
  const without = text.replace(imported, '').replaceAll(mark, '$1;');
  if (/\breached\(/.test(without)) throw new Error('A call of reached() cannot be taken out');
  return without;
}
