import { expected, expectOptions } from '../../../src/support/validate.js';

/** The names of a login by Kerberos. */
export interface KerberosAccount {
  /**
   * The servers' name in Kerberos, `service/host`. krb5.conf says to which realm the host belongs.
   * @default `zookeeper/` and the host of the connection, as in the connect string
   */
  readonly servicePrincipal?: string | undefined;
  /**
   * The client's name in Kerberos, such as `orders@INTERNAL`.
   * @default the default principal of the ticket cache
   */
  readonly principal?: string | undefined;
}

/** @throws TypeError for a name that Kerberos would not take as it is */
export function checkKerberosAccount(account: KerberosAccount): KerberosAccount {
  const checked = expectOptions('kerberos', account, ['servicePrincipal', 'principal']);
  const { servicePrincipal, principal } = checked;
  if (servicePrincipal !== undefined && !isName(servicePrincipal, /^[^/@]+\/[^/@]+$/))
    throw new TypeError(
      expected(
        'servicePrincipal',
        "a service and a host, such as 'zookeeper/zk.internal' (krb5.conf says to which realm the host belongs)",
        servicePrincipal,
      ),
    );
  if (principal !== undefined && !isName(principal, /^[^@]+(@[^@]+)?$/))
    throw new TypeError(expected('principal', "a principal of Kerberos, such as 'orders@INTERNAL'", principal));
  return checked;
}

/** Kerberos would cut a name at its first NUL. */
function isName(value: unknown, pattern: RegExp): value is string {
  return typeof value === 'string' && pattern.test(value) && !/[\s\0]/.test(value);
}
