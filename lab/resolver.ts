import dns from 'node:dns';

export const nameOfServers = 'zookeeper.test';

/** Resolves `nameOfServers` to addresses of this machine; the servers behind the addresses are real. */
export class Resolver implements Disposable {
  addresses: string[];
  readonly #original = dns.lookup;

  constructor(...addresses: string[]) {
    this.addresses = addresses;
    const lookup = (
      hostname: string,
      options: dns.LookupAllOptions,
      callback: (error: Error | null, addresses: dns.LookupAddress[]) => void,
    ): void => {
      if (hostname !== nameOfServers) this.#original(hostname, options, callback);
      else
        process.nextTick(
          callback,
          null,
          this.addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
        );
    };
    dns.lookup = lookup as typeof dns.lookup;
  }

  [Symbol.dispose](): void {
    dns.lookup = this.#original;
  }
}
