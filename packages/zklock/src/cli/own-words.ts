import { errorText } from '../../../../src/support/error-text.js';

/** The message of an error of the library, in the words of the command. */
export function commandErrorText(error: unknown): string {
  return commandText(errorText(error));
}

/** A text of the library, in the words of the command. */
export function commandText(text: string): string {
  for (const [words, own] of ownWords) text = text.replaceAll(words, own);
  return text;
}

/** Pairs of words: those for programmers in messages of the library, and those of the command. Longer words stand first. */
export const ownWords: readonly (readonly [library: string, command: string])[] = [
  ['Wait longer, or find the holder with participants()', 'Wait longer, or find the holder with zklock status'],
  ['such as (await mutex.participants())[0].path', 'as zklock status shows it'],
  ['Give the call more time', 'Wait longer'],
  [', and the retryPolicy allows no further try', ''],
  ['Use the same maxLeases in all clients', 'Use the same --slots in all clients'],
  ['credentials go into the `auth` option, or into `sasl` or `tls`', 'credentials go into the file of --auth-file'],
  ['a client without the option `auth`', 'a client without credentials'],
  [
    'the accounts of the option `auth`, of `sasl` and of the certificate in `tls`, and none is given. Give `auth`, or another scheme',
    'the accounts of --auth-file and of --tls-cert, and none is given',
  ],
  ['the option `auth`', '--auth-file'],
  ['give the option `sasl`,', 'give a line sasl:… in the file of --auth-file,'],
  ['the option `sasl`', '--auth-file'],
  ['set the option `tls`', 'give --tls-ca'],
  ['leave out the option tls', 'leave out --tls-ca, --tls-cert and --tls-key'],
  ['the option tls cannot be used', '--tls-ca, --tls-cert or --tls-key cannot be used'],
  ['in the option tls.ca', 'by --tls-ca'],
  ['in the option tls.servername', 'by --tls-servername'],
  ['Give tls.cert and tls.key', 'Give --tls-cert and --tls-key'],
  ['check tls.ciphers, and ssl.ciphersuites', 'check ssl.ciphersuites'],
  ['The option connectionTimeoutMs allowed', '--connect-timeout or --wait allowed'],
  ['the result of `connectString()`', 'the file of --servers-file'],
  ['Expected `connectString` to be', 'Expected --servers to be'],
  ['the option `acl`', '--acl'],
  ['`acl`', '--acl'],
  ['`sessionTimeoutMs`', '--session-timeout'],
  ['`connectionTimeoutMs`', '--connect-timeout'],
  ['`timeoutMs`', '--wait'],
  ['`leaseMs`', '--lease'],
  ['Check tls.minVersion, tls.maxVersion and tls.ciphers, and ssl.enabledProtocols', 'Check ssl.enabledProtocols'],
];
