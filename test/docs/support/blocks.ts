import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

/** One code block of a page, with the invisible comments right above it. */
export interface Block {
  readonly page: string;
  /** The line of its first line of code. */
  readonly line: number;
  /** The word behind the three backticks; empty for a block that shows text. */
  readonly language: string;
  readonly code: string;
  /** `<!-- setup: client, mutex -->`: names of `setups.ts` that the block uses. Undefined for a whole program. */
  readonly setup: readonly string[] | undefined;
  /** `<!-- before: code -->`: code that runs before the block. */
  readonly before: string;
  /** `<!-- after: code -->`: code that runs after the block, such as an assertion. */
  readonly after: string;
  /** `<!-- prints: text -->`: all that the block must print. */
  readonly prints: string | undefined;
  /** `<!-- not run: why -->`: the block is compiled only. */
  readonly isRun: boolean;
}

/** README.md, and every page below `docs`. */
export const pages: readonly string[] = [
  'README.md',
  ...readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file.replaceAll('\\', '/')}`)
    .sort(),
];

export function blocksOf(page: string): Block[] {
  const text = readFileSync(`${root}${page}`, 'utf8');
  const fences = text.matchAll(
    /(?<comments>(?:<!--(?:(?!-->)[^])*-->\s*)*)^(?<ticks>`{3,})(?<language>[\w-]*)[^\n]*\n(?<code>[^]*?)^\k<ticks>`*\s*$/gm,
  );
  return [...fences].map(({ index, groups = {} }) => {
    const { comments = '', language = '', code = '' } = groups;
    const opening = text.slice(0, index + comments.length).split('\n').length;
    return { page, line: opening + 1, language, code, ...instructions(`${page}:${opening}`, comments) };
  });
}

const known = ['setup', 'before', 'after', 'prints', 'not run'];

function instructions(where: string, comments: string): Pick<Block, 'setup' | 'before' | 'after' | 'prints' | 'isRun'> {
  const all = new Map<string, string>();
  for (const [, name = '', value = ''] of comments.matchAll(/<!--\s*([a-z][a-z ]*):((?:(?!-->)[^])*)-->/g)) {
    if (!known.includes(name))
      throw new Error(`${where}: a comment above a block says ${known.join(', ')}; got ${name}`);
    all.set(name, value.trim());
  }
  return {
    setup: all
      .get('setup')
      ?.split(',')
      .map((name) => name.trim())
      .filter((name) => name !== ''),
    before: all.get('before') ?? '',
    after: all.get('after') ?? '',
    prints: all.get('prints'),
    isRun: !all.has('not run'),
  };
}
