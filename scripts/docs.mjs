// npm run docs: the site of the guide and the API reference, in site/; then checks the links and anchors of the site, of
// the Markdown in the repository, and of the Markdown in the package
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LinkChecker } from 'linkinator';
import { bootstrap, root } from './bootstrap.mjs';

bootstrap();
rmSync(join(root, 'site'), { recursive: true, force: true });
const typedoc = spawnSync(process.execPath, ['node_modules/typedoc/bin/typedoc'], { cwd: root, stdio: 'inherit' });
let failed = typedoc.status !== 0;

if (existsSync(join(root, 'site/index.html'))) await check('the site', join(root, 'site'), ['**/*.html']);
await check('the repository', root, markdownOf(root));
await withPackage((folder) => check('the package', folder, markdownOf(folder)));
process.exitCode = failed ? 1 : 0;

/** Offline: addresses of other hosts are not requested. */
async function check(what, folder, path) {
  const { links } = await new LinkChecker().check({
    path,
    serverRoot: folder,
    markdown: true,
    checkFragments: true,
    directoryListing: true,
    concurrency: 20,
    linksToSkip: async (link) => !link.startsWith('http://localhost:'),
  });
  const broken = links.filter(({ state }) => state === 'BROKEN');
  for (const { url, parent } of broken)
    console.log(`${what}: ${shown(parent)} links to ${shown(url)}, which is not there`);
  if (broken.length > 0) failed = true;
  console.log(`${what}: ${links.length} links, ${broken.length} broken`);
}

function shown(url) {
  return url.replace(/^http:\/\/localhost:\d+\//, '');
}

function markdownOf(folder) {
  const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'SECURITY.md'];
  return [...pages.filter((page) => existsSync(join(folder, page))), 'docs/**/*.md'];
}

async function withPackage(use) {
  const folder = mkdtempSync(join(tmpdir(), 'docs-'));
  try {
    run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], root);
    run('tar', ['-xzf', ...readdirSync(folder)], folder);
    await use(join(folder, 'package'));
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function run(command, args, cwd) {
  const { status, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8', shell: process.platform === 'win32' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stderr}`);
}
