import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyFile, type KeyName } from './tls-keys.ts';

/** How a server identifies its clients, and itself. */
export interface Security {
  /**
   * TLS: on a port of its own beside the plain port, or on the same port.
   *
   * @default no TLS
   */
  readonly tls?: 'own-port' | 'same-port';
  /** The server's certificate. @default 'server' */
  readonly certificate?: KeyName;
  /** @default 'want' */
  readonly clientAuth?: 'need' | 'want' | 'none';
  /** The accounts of SASL: passwords by user name. */
  readonly sasl?: Readonly<Record<string, string>>;
  /** Kerberos in the place of the accounts. */
  readonly kerberos?: ServerLogin;
  /** Serves only clients that have authenticated by SASL. */
  readonly requiresSasl?: boolean;
}

/** How a server logs in to Kerberos. */
export interface ServerLogin {
  readonly principal: string;
  readonly keytab: string;
  /** The path of krb5.conf. */
  readonly configFile: string;
}

type Lines = Readonly<Record<string, string | number>>;

/** The lines of `zoo.cfg`. */
export function securityConfig(security: Security, securePort: number | undefined): Lines {
  const { tls, certificate = 'server', clientAuth = 'want', sasl, kerberos, requiresSasl } = security;
  return {
    ...(tls && {
      serverCnxnFactory: 'org.apache.zookeeper.server.NettyServerCnxnFactory',
      'ssl.keyStore.location': keyFile(certificate, 'store'),
      'ssl.keyStore.type': 'PEM',
      'ssl.trustStore.location': keyFile('authority', 'pem'),
      'ssl.trustStore.type': 'PEM',
      'ssl.clientAuth': clientAuth,
      'authProvider.x509': 'org.apache.zookeeper.server.auth.X509AuthenticationProvider',
    }),
    ...(tls === 'same-port' && { 'client.portUnification': 'true' }),
    ...(securePort !== undefined && { secureClientPort: securePort, secureClientPortAddress: '127.0.0.1' }),
    ...((sasl ?? kerberos) && { 'authProvider.sasl': 'org.apache.zookeeper.server.auth.SASLAuthenticationProvider' }),
    ...(requiresSasl && { sessionRequireClientSASLAuth: 'true' }),
  };
}

/** The options of `java`. Writes the accounts of SASL, or the login to Kerberos, into the server's folder. */
export function securityJavaOptions({ sasl, kerberos }: Security, folder: string): string[] {
  const loginModule = kerberos ? krb5LoginModule(kerberos) : sasl && digestLoginModule(sasl);
  if (loginModule === undefined) return [];
  const file = join(folder, 'jaas.conf');
  writeFileSync(file, `Server {\n${loginModule};\n};\n`);
  return [
    `-Djava.security.auth.login.config=${file}`,
    ...(kerberos ? [`-Djava.security.krb5.conf=${kerberos.configFile}`] : []),
  ];
}

function digestLoginModule(accounts: Readonly<Record<string, string>>): string {
  const users = Object.entries(accounts).map(([user, password]) => `  user_${user}=${JSON.stringify(password)}`);
  return `  org.apache.zookeeper.server.auth.DigestLoginModule required\n${users.join('\n')}`;
}

function krb5LoginModule({ principal, keytab }: ServerLogin): string {
  return `  com.sun.security.auth.module.Krb5LoginModule required
  useKeyTab=true
  keyTab=${JSON.stringify(keytab)}
  storeKey=true
  useTicketCache=false
  isInitiator=false
  principal=${JSON.stringify(principal)}`;
}
