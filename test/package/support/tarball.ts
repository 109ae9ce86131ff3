/** The tarball of a package, as `npm publish` would upload it. scripts/package.mjs packs all of them once for all tests. */
export function tarball(name = 'zookeeper-fair-lock'): string {
  const tarballs = JSON.parse(process.env['PACKAGE_TARBALLS'] ?? '{}') as Record<string, string>;
  const path = tarballs[name];
  if (path === undefined) throw new Error(`${name} is not packed: run npm run suite -- package`);
  return path;
}
