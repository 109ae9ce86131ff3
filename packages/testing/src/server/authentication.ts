import { digestIdentity, type Identity } from '../wire/identity.js';
import { JuteReader, JuteWriter } from '../wire/jute.js';

/** The result of an auth request: it proves an identity, or it ends the connection. */
export type Authentication = { readonly is: 'good'; readonly identity?: Identity } | { readonly is: 'refused' };

/** @throws Refusal if the packet is cut short */
export function authenticate(packet: Buffer, maxBufferBytes: number): Authentication {
  const reader = new JuteReader(packet, maxBufferBytes * 2);
  reader.int();
  const scheme = reader.text();
  const credentials = reader.bytes();
  // The server already knows the address of the connection.
  if (scheme === 'ip') return { is: 'good' };
  return scheme === 'digest' && credentials !== null
    ? { is: 'good', identity: digestIdentity(credentials) }
    : { is: 'refused' };
}

/**
 * The answer of a server without SASL: a null in place of the token. Undefined if the client sent no token.
 *
 * @throws Refusal if the packet is cut short
 */
export function saslAnswer(xid: number, packet: Buffer, maxBufferBytes: number): Buffer | undefined {
  const token = new JuteReader(packet, maxBufferBytes * 2).bytes();
  return token === null ? undefined : new JuteWriter().int(xid).count(0).int(0).bytes(null).frame();
}
