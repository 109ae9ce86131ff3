import { libraryPlace } from '../support/call-site.js';

/**
 * One process may load this package twice: two versions, a bundle beside `node_modules`, a hot reload. Each copy has its
 * own lock contexts and its own list of the locks of a client, so an object of one copy cannot be used by another: the
 * code would not re-enter, and would wait for itself. Private fields and `instanceof` cannot tell such an object from
 * any other value. Therefore each copy marks its classes with a symbol that all copies share.
 */
export function markCopy(prototype: object): void {
  Object.defineProperty(prototype, brand, { value: thisCopy });
}

/**
 * @param what what the application has passed, for the error
 * @throws TypeError if another copy of this package has created `value`
 */
export function refuseOtherCopy(what: string, value: unknown): void {
  if (typeof value !== 'object' || value === null || !(brand in value)) return;
  const copy = value[brand] as PackageCopy;
  if (copy === thisCopy) return;
  throw new TypeError(
    `${what} comes from another copy of zookeeper-fair-lock (${describe(copy)}) than the code that uses it (${describe(thisCopy)}). ` +
      `Two copies in one process share no lock contexts, so they would wait for each other. ${adviceOn(copy)}`,
  );
}

/** All versions read these fields. */
interface PackageCopy {
  readonly version: string;
  /** The folder from which it was loaded, or the file of the bundle that contains it; '' if that is unknown. */
  readonly path: string;
}

/** The version of package.json; `npm run release` and a test keep it equal. A bundle has no package.json to read. */
const version = '0.1.0';

const thisCopy: PackageCopy = Object.freeze({ version, path: libraryPlace ?? '' });

const brand = Symbol.for('zookeeper-fair-lock/copy');

function describe({ version: its, path }: PackageCopy): string {
  return `version ${its}, ${path || 'unknown path'}`;
}

function adviceOn(other: PackageCopy): string {
  return other.path === thisCopy.path && other.version === thisCopy.version
    ? 'One file was loaded twice, as by a hot reload or jest.resetModules(): close the client of the old copy, and connect again with the new one'
    : 'Load one copy: run npm dedupe, ask for one version in every package, and make zookeeper-fair-lock external in every bundle';
}
