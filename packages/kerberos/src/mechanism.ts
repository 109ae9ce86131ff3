import type { SaslMechanism } from 'zookeeper-fair-lock';
import { GssapiHandshake } from './gssapi-handshake.js';
import { checkKerberosAccount, type KerberosAccount } from './kerberos-account.js';
import { loadKerberos } from './kerberos-package.js';
import { oneAtATime } from './kerberos.js';

/**
 * The login by Kerberos, for the option `sasl` of a client. It needs the npm package `kerberos`, and a ticket cache or a
 * keytab, where `KRB5CCNAME` and `KRB5_CLIENT_KTNAME` say.
 *
 * @throws TypeError for a bad name, or if the package `kerberos` is not installed or does not work on this machine
 * @example
 * const sasl = await kerberos({ servicePrincipal: 'zookeeper/zk.internal' });
 * const client = await LockClient.connect('zk1.internal:2281', { tls: true, sasl });
 */
export async function kerberos(account: KerberosAccount = {}): Promise<SaslMechanism> {
  const checked = checkKerberosAccount(account);
  const login = { ...checked, kerberos: await loadKerberos(), inTurn };
  return { mechanism: 'GSSAPI', handshake: (peer) => new GssapiHandshake(login, peer) };
}

/** All clients of this process share the threads that Kerberos takes. */
const inTurn = oneAtATime();
