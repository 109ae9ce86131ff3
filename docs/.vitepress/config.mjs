// The site of what `npm run docs` puts into .cache/site: the pages of docs, those of the project, and the API reference.
import { readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { defineConfig } from 'vitepress';

const root = join(import.meta.dirname, '../..');
const text = (file) => readFileSync(join(root, file), 'utf8');
const { name, version, description, repository } = JSON.parse(text('package.json'));
const github = repository.url.replace(/^git\+|\.git$/g, '');
const guide = guideOf(text('docs/index.md'));
const api = JSON.parse(text('.cache/site/api/typedoc-sidebar.json'));

const icon =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 100 100"><text y=".9em" font-size="90">🔒</text></svg>';
/** A long line of code wraps, so that no part of it is hidden; and it wraps late, because the text is wide. */
const css = `
.vp-doc div[class*='language-'] code { width: auto; white-space: pre-wrap; overflow-wrap: anywhere }
.VPDoc.has-aside .content-container.content-container { max-width: 800px }
.VPHome .vp-doc h1 { display: none } /* the hero has it */`;

export default defineConfig({
  title: name,
  description,
  srcDir: '../.cache/site',
  outDir: '../site',
  cacheDir: '../.cache/vitepress',
  head: [
    ['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(icon)}` }],
    ['style', {}, css],
  ],
  vite: { build: { chunkSizeWarningLimit: 5_000 } }, // the words that the search knows
  markdown: {
    anchor: { slugify: anchorOnGitHub },
    config: (md) => md.core.ruler.push('links', linksOfSite),
  },
  themeConfig: {
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Questions', link: '/questions' },
      { text: 'API', link: '/api/', activeMatch: '^/api/' },
      { text: version, link: '/CHANGELOG' },
    ],
    sidebar: { '/': guide, '/api/': api },
    outline: [2, 3],
    socialLinks: [{ icon: 'github', link: github }],
    search: {
      provider: 'local',
      options: {
        miniSearch: { searchOptions: { boostDocument: (page) => (page.startsWith('/api/') ? 0.1 : 1) } },
      },
    },
  },
  transformPageData: ({ relativePath }) =>
    relativePath === 'index.md' ? { frontmatter: { layout: 'home', hero: heroOf(description) } } : undefined,
  buildEnd: ({ outDir }) => writeFileSync(join(outDir, 'llms.txt'), listForModels()),
});

/** The list of the pages in docs/index.md: a group for each heading. */
function guideOf(index) {
  return index.split(/^## /m).flatMap((chapter) => {
    const pages = [...chapter.matchAll(/^- \[([^\]]*)\]\((.+?)\.md\): (.*)/gm)];
    const items = pages.map(([, title, page, line]) => ({ text: title, link: posix.join('/', page), line }));
    return items.length > 0 ? [{ text: chapter.split('\n')[0], items }] : [];
  });
}

function anchorOnGitHub(heading) {
  const letters = heading.toLowerCase().replace(/[^\p{L}\p{N}_ -]/gu, '');
  return letters.replaceAll(' ', '-');
}

function heroOf(tagline) {
  return {
    name,
    tagline,
    actions: [
      { theme: 'brand', text: 'Start', link: '/start' },
      { theme: 'alt', text: 'Which lock do I want?', link: '#which-lock-do-i-want' },
      { theme: 'alt', text: 'GitHub', link: github },
    ],
  };
}

/** A link between files of the repository becomes one between pages of the site, or leads to the repository. */
function linksOfSite({ tokens, env }) {
  if (env.relativePath.startsWith('api/')) return;
  const folder = posix.dirname(/^[A-Z]+\.md$/.test(env.relativePath) ? env.relativePath : `docs/${env.relativePath}`);
  for (const token of tokens.flatMap(({ children }) => children ?? [])) {
    const href = token.attrGet('href');
    if (token.type !== 'link_open' || /^(?:[a-z]+:|#)/.test(href)) continue;
    const file = posix.join(folder, href);
    const isPage = /^(?:docs\/.*|ARCHITECTURE|CONTRIBUTING|CHANGELOG)\.md(?:#|$)/.test(file);
    token.attrSet('href', isPage ? `/${file.replace(/^docs\//, '')}` : `${github}/blob/main/${file}`);
  }
}

/** llms.txt: every page, with a line each. */
function listForModels() {
  const listed = ({ text, link, line, items = [] }) =>
    link?.endsWith('/') === false && items.length === 0
      ? [`- [${text}](${link.slice(1).replace(/\.md$/, '')}.html)${line ? `: ${line}` : ''}`]
      : items.flatMap(listed);
  const chapters = [...guide, { text: 'API reference', items: api }].map(
    (chapter) => `\n## ${chapter.text}\n\n${listed(chapter).join('\n')}\n`,
  );
  return `# ${name}\n\n> ${description}\n${chapters.join('')}`;
}
