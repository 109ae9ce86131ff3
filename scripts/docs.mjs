// npm run docs: the site of the guide and the API reference, in site/; then checks the links and anchors of the site
// and of the Markdown in the repository
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LinkChecker } from 'linkinator';
import { bootstrap, root } from './bootstrap.mjs';
import { packages } from './packages.mjs';

bootstrap();
const repository = packages[0].manifest.repository.url;
const ofProject = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'];
const sources = join(root, '.cache/site');
for (const folder of [sources, join(root, 'site')]) rmSync(folder, { recursive: true, force: true });
cpSync(join(root, 'docs'), sources, { recursive: true });
for (const page of ofProject) cpSync(join(root, page), join(sources, page));
let failed = false;
run('typedoc/bin/typedoc');
run('vitepress/bin/vitepress.js', 'build', 'docs');

await checkSite(join(root, 'site'));
checkMarkdown();
process.exitCode = failed ? 1 : 0;

function run(program, ...args) {
  const { status } = spawnSync(process.execPath, [join('node_modules', program), ...args], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) failed = true;
}

/** Offline: addresses of other hosts are not requested. */
async function checkSite(folder) {
  if (!existsSync(join(folder, 'index.html'))) return;
  const { links } = await new LinkChecker().check({
    path: ['**/*.html'],
    serverRoot: folder,
    directoryListing: true,
    checkFragments: true,
    linksToSkip: async (link) => !link.startsWith('http://localhost:'),
  });
  const broken = links.filter(({ state }) => state === 'BROKEN');
  const shown = (url) => url.replace(/^http:\/\/localhost:\d+\//, '');
  for (const { url, parent } of broken) console.log(`the site: ${shown(parent)} links to ${shown(url)}`);
  if (broken.length > 0) failed = true;
  console.log(`the site: ${links.length} pages and files, ${broken.length} broken links`);
}

/** Files and anchors. linkinator misses an anchor of a page that it has read before. */
function checkMarkdown() {
  const pages = ['README.md', 'SECURITY.md', ...ofProject, 'docs', 'packages'];
  const plugin = fileURLToPath(import.meta.resolve('remark-validate-links'));
  const { status } = spawnSync(
    process.execPath,
    [
      'node_modules/remark-cli/cli.js',
      '--no-config',
      '--frail',
      '--quiet',
      '--use',
      `${plugin}=repository:"${repository}"`,
      ...pages,
    ],
    { cwd: root, stdio: 'inherit' },
  );
  if (status !== 0) failed = true;
  console.log(`the repository: links and anchors are ${status === 0 ? 'good' : 'broken'}`);
}
