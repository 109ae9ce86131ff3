import { LockClient } from '../../src/client/lock-client.ts';
import { systemNetwork } from '../../src/zookeeper/network/network.ts';
import { isOverTls } from './tls-front.ts';
import { clientTls } from './tls-keys.ts';

// In a run with ZK_TLS=1, every LockClient that names no option `tls` connects over TLS. Imported by the entry of each
// process of such a run.
if (isOverTls) {
  const { connectIn } = LockClient;
  const tls = clientTls();
  LockClient.connectIn = (surroundings, connectString, options, isSlow) =>
    connectIn.call(
      LockClient,
      surroundings,
      connectString,
      surroundings.network === systemNetwork && namesNoTls(options) ? { ...options, tls } : options,
      isSlow,
    );
}

/** False for a bad value too, because the client must refuse it as it is. Calls no getter. */
function namesNoTls(options: unknown): boolean {
  if (options === undefined) return true;
  if (typeof options !== 'object' || options === null || Object.getPrototypeOf(options) !== Object.prototype)
    return false;
  const own = Object.getOwnPropertyDescriptor(options, 'tls');
  return own === undefined || ('value' in own && own.value === undefined);
}
