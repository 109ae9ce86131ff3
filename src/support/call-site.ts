/**
 * The place where the application called the library: the innermost stack frames outside of the library itself,
 * as one text. Must be called in the same step as the application's call.
 */
export function callSite(): string {
  const frames = framesOf(stackHere());
  const outside =
    library === undefined ? [] : frames.filter((frame) => !frame.includes(library) && !frame.includes('node:internal'));
  // In a bundle the library has no folder of its own. Then its own frames are shown too.
  const shown = outside.length > 0 ? outside.slice(0, mostFrames) : frames.slice(0, deepest);
  return shown.join(', called by ') || 'an unknown place';
}

/** Undefined if the application's Error.prepareStackTrace throws, or if its Error.stackTraceLimit is read-only. */
function stackHere(): unknown {
  try {
    const { stackTraceLimit } = Error;
    try {
      Error.stackTraceLimit = deepest;
      return new Error().stack;
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  } catch {
    return undefined;
  }
}

/** An application's Error.prepareStackTrace may turn a stack into any value. */
function framesOf(stack: unknown): string[] {
  if (typeof stack !== 'string') return [];
  return stack.split('\n').flatMap((line) => /^\s+at (.+)$/.exec(line)?.[1] ?? []);
}

const deepest = 20;

const mostFrames = 3;

const ownFrame = framesOf(stackHere())[0] ?? '';

/**
 * The file of the built package, or the folder of its sources, as stacks name it. `import.meta.url` does not exist in
 * every module system that the package may be bundled for.
 */
const library = /([^\s(]+[/\\](?:zookeeper-fair-lock\.js|(?=support[/\\]call-site\.ts)))/.exec(ownFrame)?.[1];

/** The same for people, or the file of the bundle that contains this module; undefined if the stack does not name it. */
export const libraryPlace = /^(?:.*? \()?(.+?)(?:support[/\\]call-site\.ts)?(?::\d+)+\)?$/.exec(ownFrame)?.[1];
