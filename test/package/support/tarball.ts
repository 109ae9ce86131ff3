/** What `npm publish` would upload: packed once by scripts/package.mjs, for every Node that the tests run on. */
export function tarball(): string {
  const path = process.env['PACKAGE_TARBALL'];
  if (path === undefined) throw new Error('These tests need the packed package: npm run test:package');
  return path;
}
