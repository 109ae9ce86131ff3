/** The functions of the npm package `kerberos` that this library calls. Tokens are texts in base64. */
export interface Kerberos {
  /** @param service `zookeeper@host`: the realm is that of the host in krb5.conf */
  initializeClient(service: string, options: KerberosOptions): Promise<KerberosContext>;
}

export interface KerberosOptions {
  /** The principal whose ticket is used. '' stands for the default one of the ticket cache. */
  readonly principal: string;
  readonly flags: number;
  readonly mechOID: number;
}

/** The state of a client that authenticates to one server. */
export interface KerberosContext {
  /** True once the server has proven that it knows the key of the service. */
  readonly contextComplete: boolean;
  step(token: string): Promise<string | null>;
  wrap(message: string): Promise<string>;
}

/** Waits for the calls before it, and calls Kerberos. */
export type KerberosCall = <T>(isWanted: () => boolean, call: () => Promise<T>) => Promise<T>;

/**
 * Makes the calls one after another. Each call takes one of the four threads that Node.js also needs for files and for
 * the lookup of names, and a KDC that does not answer keeps the thread for half a minute. Without the order, the
 * attempts to connect would soon take all four. A call that nobody waits for any more is left out.
 */
export function oneAtATime(): KerberosCall {
  let last: Promise<unknown> = Promise.resolve();
  return (isWanted, call) => {
    const result = last.then(() => {
      if (!isWanted()) throw new Error('The connection ended before Kerberos was asked');
      return call();
    });
    last = result.catch(() => undefined);
    return result;
  };
}
