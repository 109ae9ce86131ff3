import { errorText } from '../support/error-text.js';
import type { Kerberos } from '../zookeeper/kerberos.js';

/**
 * Loads the npm package `kerberos`, an optional peer of this library: nobody else has to install MIT Kerberos.
 *
 * @throws TypeError if the package is not installed, or does not work on this machine
 */
export async function loadKerberos(load: () => Promise<unknown> = importKerberos): Promise<Kerberos> {
  try {
    const { default: loaded } = (await load()) as { default: Kerberos };
    return loaded;
  } catch (cause) {
    const why = isMissing(cause) ? 'is not installed' : `cannot be loaded: ${errorText(cause)}`;
    throw new TypeError(
      `Expected \`sasl.mechanism\` 'GSSAPI' with the npm package \`${name}\`, but it ${why}. Run: npm install ${name}`,
      { cause },
    );
  }
}

/** A variable, because a bundler would refuse the name of a package that is not installed. */
const name = 'kerberos';

function importKerberos(): Promise<unknown> {
  return import(name);
}

/** A missing part of the package has the same code, and the path of that part in its message. */
function isMissing(error: unknown): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return code === 'ERR_MODULE_NOT_FOUND' && String(message).includes(`'${name}'`);
}
