import type { LockHost } from '../client/lock-host.js';
import { localAddress } from './local-address.js';

/**
 * The data of a znode whose acquire gave none: the host's address, read once for each client as in Curator. The system
 * calls for it take 80 µs, which programs with a mutex per request would notice.
 */
export class DefaultData {
  readonly bytes = Buffer.from(localAddress());

  static of(host: LockHost): Buffer {
    return host.companions.of(DefaultData).bytes;
  }
}
