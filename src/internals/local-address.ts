import { hostname, networkInterfaces } from 'node:os';

/** The host's address as text, which Curator writes into a lock's znode. */
export function localAddress(): string {
  const addresses = Object.values(unlessRefused(networkInterfaces, {})).flatMap((interfaces) => interfaces ?? []);
  const outer =
    addresses.find(({ family, internal }) => family === 'IPv4' && !internal) ??
    addresses.find(({ internal }) => !internal);
  return outer?.address ?? '127.0.0.1';
}

export function hostName(): string {
  return unlessRefused(hostname, 'localhost');
}

/** Some containers and phones refuse these system calls. A label must not fail a lock. */
function unlessRefused<T>(call: () => T, otherwise: T): T {
  try {
    return call();
  } catch {
    return otherwise;
  }
}
