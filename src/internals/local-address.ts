import { networkInterfaces } from 'node:os';

/** The host's address as text, which Curator writes into a lock's znode. */
export function localAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((interfaces) => interfaces ?? []);
  const outer =
    addresses.find(({ family, internal }) => family === 'IPv4' && !internal) ??
    addresses.find(({ internal }) => !internal);
  return outer?.address ?? '127.0.0.1';
}
