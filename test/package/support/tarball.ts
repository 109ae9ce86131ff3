/** The tarball that `npm publish` would upload. scripts/package.mjs packs it once for all versions of Node. */
export function tarball(): string {
  const path = process.env['PACKAGE_TARBALL'];
  if (path === undefined) throw new Error('These tests need the packed package: run npm run test:package');
  return path;
}
