import { networkInterfaces } from 'node:os';

/** What Curator writes into a lock's znode: the host's address as text. */
export function localAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((interfaces) => interfaces ?? []);
  const outer =
    addresses.find(({ family, internal }) => family === 'IPv4' && !internal) ??
    addresses.find(({ internal }) => !internal);
  return outer?.address ?? '127.0.0.1';
}
