const format = /^(\d+)\.(\d+)\.(\d+)$/;

/**
 * True if `version` may follow the last release. The first release may have the version that package.json has already.
 */
export function isAfter(version, released, current) {
  if (!format.test(version ?? '')) return false;
  return released ? compare(version, released) > 0 : compare(version, current) >= 0;
}

/** The changelog with its unreleased section under the new version and date, and that section by itself. */
export function changelogOf(text, version, date) {
  const heading = /^## .*\(unreleased\)$/m;
  if (!heading.test(text)) throw new Error('Expected a heading "## … (unreleased)" in CHANGELOG.md');
  const released = text.replace(heading, `## ${version} (${date})`);
  const [, section = ''] = released.split(/^## .*$/m);
  if (section.trim() === '') throw new Error('Expected the unreleased section of CHANGELOG.md to say what changed');
  return { text: released, section: section.trim() };
}

/** The source text of the version that the code knows, with the new one. */
export function withVersion(source, version) {
  const constant = /^(const version = )'.*';$/m;
  if (!constant.test(source)) throw new Error('Expected a line "const version = …" in the source');
  return source.replace(constant, `$1'${version}';`);
}

/** The text of a package.json with the new version: all packages have one, and ask for the lock in exactly this one. */
export function manifestWith(manifest, version) {
  const { peerDependencies: peers } = manifest;
  const peerDependencies = peers?.[lock] ? { ...peers, [lock]: version } : peers;
  return `${JSON.stringify({ ...manifest, version, peerDependencies }, null, 2)}\n`;
}

const lock = 'zookeeper-fair-lock';

function compare(one, other) {
  const [left, right] = [one, other].map((version) => format.exec(version).slice(1).map(Number));
  for (const [index, number] of left.entries()) if (number !== right[index]) return number - right[index];
  return 0;
}
