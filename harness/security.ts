import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keyFile, storePassword, type KeyName } from './tls-keys.ts';

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
  /** Serves only clients that have authenticated by SASL. */
  readonly requiresSasl?: boolean;
}

type Lines = Readonly<Record<string, string | number>>;

/** The lines of `zoo.cfg`. */
export function securityConfig(security: Security, securePort: number | undefined): Lines {
  const { tls, certificate = 'server', clientAuth = 'want', sasl, requiresSasl } = security;
  return {
    ...(tls && {
      serverCnxnFactory: 'org.apache.zookeeper.server.NettyServerCnxnFactory',
      'ssl.keyStore.location': keyFile(certificate, 'p12'),
      'ssl.keyStore.password': storePassword,
      'ssl.keyStore.type': 'PKCS12',
      'ssl.trustStore.location': keyFile('authority', 'pem'),
      'ssl.trustStore.type': 'PEM',
      'ssl.clientAuth': clientAuth,
      'authProvider.x509': 'org.apache.zookeeper.server.auth.X509AuthenticationProvider',
    }),
    ...(tls === 'same-port' && { 'client.portUnification': 'true' }),
    ...(securePort !== undefined && { secureClientPort: securePort, secureClientPortAddress: '127.0.0.1' }),
    ...(sasl && { 'authProvider.sasl': 'org.apache.zookeeper.server.auth.SASLAuthenticationProvider' }),
    ...(requiresSasl && { sessionRequireClientSASLAuth: 'true' }),
  };
}

/** The options of `java`. Writes the accounts of SASL into the server's folder. */
export function securityJavaOptions({ sasl }: Security, folder: string): string[] {
  if (!sasl) return [];
  const file = join(folder, 'jaas.conf');
  const users = Object.entries(sasl).map(([user, password]) => `  user_${user}=${JSON.stringify(password)}`);
  writeFileSync(
    file,
    `Server {\n  org.apache.zookeeper.server.auth.DigestLoginModule required\n${users.join('\n')};\n};\n`,
  );
  return [`-Djava.security.auth.login.config=${file}`];
}

/** Debian's jars of Netty, which serves TLS. `netty-all.jar` contains no class. */
export function nettyJars(): string[] {
  const folder = '/usr/share/java';
  return readdirSync(folder)
    .filter((name) => /^netty-(?!.*\d+\.\d+).*\.jar$/.test(name))
    .map((name) => join(folder, name));
}
