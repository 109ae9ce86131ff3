import { errorText } from '../../../src/support/error-text.js';
import type { SaslHandshake, SaslPeer } from 'zookeeper-fair-lock';
import type { KerberosAccount } from './kerberos-account.js';
import type { Kerberos, KerberosCall, KerberosContext } from './kerberos.js';

/**
 * The mechanism GSSAPI (RFC 4752) with Kerberos: the client sends a ticket, the server proves that it knows the key of
 * the service, and then they agree that what follows is neither signed nor encrypted.
 */
export class GssapiHandshake implements SaslHandshake {
  readonly #login: KerberosLogin;
  readonly #peer: SaslPeer;
  readonly #service: string;
  #state: State = { at: 'beginning' };

  constructor(login: KerberosLogin, peer: SaslPeer) {
    this.#login = login;
    this.#peer = peer;
    this.#service = login.servicePrincipal ?? `zookeeper/${peer.host}`;
  }

  async begin(): Promise<Buffer> {
    try {
      const context = await this.#inTurn(() =>
        this.#login.kerberos.initializeClient(this.#service.replace('/', '@'), {
          principal: this.#login.principal ?? '',
          flags: mutualAuthentication,
          mechOID: kerberosMechanism,
        }),
      );
      const token = await this.#inTurn(() => context.step(''));
      this.#state = { at: 'asked', context };
      return Buffer.from(token ?? '', 'base64');
    } catch (error) {
      throw this.#noTicket(error);
    }
  }

  next(token: Buffer): Promise<Buffer> | undefined {
    const state = this.#state;
    switch (state.at) {
      case 'beginning':
        throw new Error('The server answered a message of SASL before there was one');
      case 'asked':
        // With `allowSaslFailedClients`, a server that has refused the ticket answers like one without SASL.
        if (token.length === 0) throw this.#peer.refusal('no-sasl', `${noSasl}, or ${this.refusedText}`);
        return this.#proven(state.context, token);
      case 'proven':
        if (token.length === 0) throw this.#peer.refusal('account', this.refusedText);
        this.#state = { at: 'answered' };
        return this.#withoutLayer(state.context);
      case 'answered':
        return undefined;
    }
  }

  async #proven(context: KerberosContext, token: Buffer): Promise<Buffer> {
    const refuse = (why: string): Error =>
      this.#peer.refusal('server', `the server could not prove that it is ${this.#service}: ${why}`);
    if (token[0] !== gssapiTag)
      throw refuse('its answer is no message of Kerberos. Its JAAS configuration must use Krb5LoginModule');
    const answer = await this.#inTurn(() => context.step(token.toString('base64'))).catch((error: unknown) => {
      throw refuse(reasonOf(error));
    });
    if (!context.contextComplete) throw refuse('its answer is no proof');
    this.#state = { at: 'proven', context };
    return Buffer.from(answer ?? '', 'base64');
  }

  /**
   * The choice of the client. The server has offered its layers, and the client takes none, whatever the offer is. So
   * the offer is not read: `unwrap` of the package ends the process if a server wraps an empty message.
   */
  async #withoutLayer(context: KerberosContext): Promise<Buffer> {
    const token = await this.#inTurn(() => context.wrap(noLayer));
    return Buffer.from(token, 'base64');
  }

  #inTurn<T>(call: () => Promise<T>): Promise<T> {
    return this.#login.inTurn(this.#peer.isConnected, call);
  }

  /** A KDC that cannot be reached says nothing about the account: a further attempt may succeed. */
  #noTicket(error: unknown): Error {
    const reason = reasonOf(error);
    const text = `Kerberos gave this client no ticket for ${this.#service}: ${reason}`;
    if (/\bKDC\b/.test(reason)) return new Error(text, { cause: error });
    return this.#peer.refusal('no-ticket', `${text}. ${whatToCheck}`);
  }

  get refusedText(): string {
    return `the server refused the Kerberos ticket for ${this.#service}: its log says why. Check that its keytab has a key of this principal, and its clock`;
  }
}

/** How a client gets its tickets. */
export interface KerberosLogin extends KerberosAccount {
  readonly kerberos: Kerberos;
  readonly inTurn: KerberosCall;
}

type State =
  | { readonly at: 'beginning' }
  | { readonly at: 'asked'; readonly context: KerberosContext }
  | { readonly at: 'proven'; readonly context: KerberosContext }
  | { readonly at: 'answered' };

/** Each message before the agreement on a layer begins with this byte (RFC 2743, section 3.1). */
const gssapiTag = 0x60;

/** GSS_C_MUTUAL_FLAG: without it, the server proves nothing. */
const mutualAuthentication = 2;

/** GSS_MECH_OID_KRB5. Another mechanism would have other messages. */
const kerberosMechanism = 9;

/**
 * The choice "no layer", and 0 as the size of the longest message. No user name follows, so the server takes that of the
 * ticket. The package uses four bytes, but reads eight.
 */
const noLayer = Buffer.from([1, 0, 0, 0, 0, 0, 0, 0]).toString('base64');

const noSasl = 'the server has no SASL (its JAAS configuration has no section "Server")';

const whatToCheck =
  'Check the tickets (klist), the keytab of KRB5_CLIENT_KTNAME, and the options servicePrincipal and principal of kerberos()';

/** The text without the words that GSSAPI puts around each reason, or around none. */
function reasonOf(error: unknown): string {
  return errorText(error).replace(
    /^Unspecified GSS failure\. +Minor code may provide more information: |: Success$/g,
    '',
  );
}
