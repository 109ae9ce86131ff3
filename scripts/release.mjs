// npm run release -- 1.2.3 [--dry-run]: makes the commit and the tag of a release. Pushing the tag publishes it.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bootstrap, root } from './bootstrap.mjs';
import { packages } from './packages.mjs';
import { changelogOf, isAfter, manifestWith, withVersion } from './release/version.mjs';

const isDryRun = process.argv.includes('--dry-run');
const changelogFile = join(root, 'CHANGELOG.md');
const sourceOfVersion = join(root, 'src/client/package-copy.ts');

try {
  bootstrap();
  await release();
} catch (error) {
  console.error(`No release: ${error.message}`);
  process.exitCode = 1;
}

async function release() {
  const version = process.argv.slice(2).find((argument) => !argument.startsWith('--'));
  const current = packages[0].manifest.version;
  const lastTag = git('tag', '--list', 'v*', '--sort=-v:refname').split('\n')[0];
  if (!isAfter(version, lastTag?.slice(1), current)) {
    throw new Error(`Expected a version after ${lastTag || current}, such as npm run release -- 1.2.3, got ${version}`);
  }
  if (!isDryRun && git('status', '--porcelain') !== '') throw new Error('Expected a clean working tree: commit first');
  const changelog = changelogOf(readFileSync(changelogFile, 'utf8'), version, new Date().toISOString().slice(0, 10));

  say('The public API since the last release:');
  console.log(
    (lastTag && git('diff', '--stat', '--patch', lastTag, '--', 'api')) || '(no earlier release, or no change)',
  );
  say('What changed, for users:');
  console.log(changelog.section);
  say('What is shipped:');
  run('npm', ['run', 'build']);
  run('npm', ['pack', '--dry-run', '--workspaces', '--include-workspace-root', '--ignore-scripts']);
  say('What it depends on:');
  console.log(componentsOf(JSON.parse(billOfMaterials())));
  if (isDryRun) return say('A dry run: nothing was written. Without --dry-run: .ci/run, then the commit and the tag.');

  run('bash', ['.ci/run']);
  writeFileSync(changelogFile, changelog.text);
  writeFileSync(sourceOfVersion, withVersion(readFileSync(sourceOfVersion, 'utf8'), version));
  for (const { folder, manifest } of packages)
    writeFileSync(join(root, folder, 'package.json'), manifestWith(manifest, version));
  run('npm', ['install', '--package-lock-only', '--ignore-scripts', '--prefer-offline']);
  git('commit', '--all', '--message', `Release ${version}`);
  git('tag', '--annotate', `v${version}`, '--message', changelog.section);
  say(`Tagged v${version}. git push --follow-tags publishes it.`);
}

/** A bill of materials (SBOM) of what is installed with the package. The release workflow publishes the same. */
function billOfMaterials() {
  const { status, stdout, stderr } = spawnSync(
    'npm',
    ['sbom', '--omit=dev', '--package-lock-only', '--sbom-format=cyclonedx'],
    { cwd: root, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`npm sbom: ${stderr}`);
  return stdout;
}

function componentsOf({ components }) {
  return components.map(({ name, version, licenses }) => {
    const names = (licenses ?? []).map(({ license }) => license.id ?? license.name);
    return `${name} ${version} (${names.join(', ') || 'no licence named'})`;
  });
}

function git(...args) {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args[0]}: ${stderr}`);
  return stdout.trim();
}

function run(command, args) {
  const { status } = spawnSync(command, args, { cwd: root, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed`);
}

function say(text) {
  console.log(`\n== ${text}`);
}
