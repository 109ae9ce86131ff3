import { pathToFileURL } from 'node:url';

/** Finds the package `kerberos` in the folder that scripts/kerberos.mjs has installed it into. */
export function resolve(specifier, context, next) {
  return next(specifier === 'kerberos' ? pathToFileURL(process.env.KERBEROS_PACKAGE).href : specifier, context);
}
