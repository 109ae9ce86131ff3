/** The variables that every verb with a connection reads. */
export const commonEnvironment: readonly (readonly [name: string, meaning: string])[] = [
  ['ZOOKEEPER_CONNECT', 'the servers, if neither --servers nor a file of servers is given'],
  ['ZKLOCK_SERVERS_FILE', 'the file of --servers-file, if --servers is not given'],
  [
    'ZKLOCK_AUTH',
    'credentials as SCHEME:CREDENTIALS, such as digest:user:secret, or sasl:user:secret for SASL; several are separated by line ends',
  ],
  ['ZKLOCK_AUTH_FILE', 'the file of --auth-file'],
  ['ZKLOCK_TLS', '1 is --tls'],
  ['ZKLOCK_TLS_CA', 'the file of --tls-ca'],
  ['ZKLOCK_TLS_CERT', 'the file of --tls-cert'],
  ['ZKLOCK_TLS_KEY', 'the file of --tls-key'],
  ['ZKLOCK_TLS_PASSPHRASE', 'the passphrase of an encrypted --tls-key'],
  ['ZKLOCK_TLS_SERVERNAME', 'the name of --tls-servername'],
];
