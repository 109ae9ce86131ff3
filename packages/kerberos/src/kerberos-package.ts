import { errorText } from '../../../src/support/error-text.js';
import type { Kerberos } from './kerberos.js';

/**
 * Loads the npm package `kerberos`.
 *
 * @throws TypeError if the package is not installed, or does not work on this machine
 */
export async function loadKerberos(load: () => Promise<unknown> = importKerberos): Promise<Kerberos> {
  try {
    const { default: loaded } = (await load()) as { default: Kerberos };
    return loaded;
  } catch (cause) {
    // Node.js adds a line for each module on the way.
    const [reason = ''] = errorText(cause).split('\n');
    const fault = isMissing(cause)
      ? `is not installed. Run: npm install ${name}`
      : `cannot be loaded: ${reason}. It needs its install script (npm rebuild ${name}), and the libraries of MIT Kerberos`;
    throw new TypeError(`Expected \`kerberos()\` with the npm package \`${name}\`, but it ${fault}`, {
      cause,
    });
  }
}

/** A variable, because a bundler would refuse the name of a package that is not installed. */
const name = 'kerberos';

function importKerberos(): Promise<unknown> {
  return import(name);
}

/** `import` and `require` have a code each. A missing part of the package has the same code, and another name in its message. */
function isMissing(error: unknown): boolean {
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return /MODULE_NOT_FOUND$/.test(String(code)) && String(message).includes(`'${name}'`);
}
