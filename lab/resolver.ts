import dns, { type LookupAddress } from 'node:dns';

export const nameOfServers = 'zookeeper.test';

/**
 * Name servers for the names ending in `.test`, in place of those of the machine; the servers behind the addresses are
 * real. As in Node.js, two lookups are made at once, and the others wait for them.
 */
export class Resolver implements Disposable {
  /** The addresses of `nameOfServers`. */
  addresses: string[];
  /** These join `addresses` when the next lookup has been answered. */
  readonly later: string[] = [];
  /** The time of a lookup that does not hang, in milliseconds. */
  takesMs = 0;
  /** The lookups that have begun so far. */
  begun = 0;
  /** The lookups that hang now, in the order in which they began. */
  readonly hanging: string[] = [];
  /** The largest number of lookups that hung at the same time. */
  mostHanging = 0;
  readonly #others = new Map<string, readonly string[] | 'hangs'>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;
  readonly #original = { lookup: dns.lookup, Resolver: dns.Resolver };

  constructor(...addresses: string[]) {
    this.addresses = addresses;
    const { lookup } = this.#original;
    dns.lookup = ((hostname: string, options: dns.LookupAllOptions, callback: Tell) => {
      if (hostname.endsWith('.test')) this.#lookUp(hostname, callback);
      else lookup(hostname, options, callback);
    }) as typeof dns.lookup;
    const find = (name: string): readonly string[] | 'hangs' | undefined => this.#find(name);
    dns.Resolver = class {
      readonly #timers: NodeJS.Timeout[] = [];
      readonly #timeoutMs: number;

      constructor({ timeout = 5_000 }: dns.ResolverOptions = {}) {
        this.#timeoutMs = timeout;
      }

      cancel(): void {
        this.#timers.forEach(clearTimeout);
      }

      resolve4(name: string, tell: TellRecords): void {
        this.#resolve(name, (address) => !address.includes(':'), tell);
      }

      resolve6(name: string, tell: TellRecords): void {
        this.#resolve(name, (address) => address.includes(':'), tell);
      }

      #resolve(name: string, isWanted: (address: string) => boolean, tell: TellRecords): void {
        const found = find(name);
        const wanted = found === 'hangs' ? [] : (found?.filter(isWanted) ?? []);
        const code = found === 'hangs' ? 'ETIMEOUT' : found === undefined ? 'ENOTFOUND' : 'ENODATA';
        const error = wanted.length > 0 ? null : Object.assign(new Error(`query ${code} ${name}`), { code });
        this.#timers.push(setTimeout(() => tell(error, wanted), found === 'hangs' ? this.#timeoutMs : 1));
      }
    } as unknown as typeof dns.Resolver;
  }

  /** Adds a name. `hangs`: its name server does not answer, and a lookup fails after 20 seconds. */
  set(name: `${string}.test`, addresses: readonly string[] | 'hangs'): this {
    this.#others.set(name, addresses);
    return this;
  }

  [Symbol.dispose](): void {
    Object.assign(dns, this.#original);
  }

  #find(name: string): readonly string[] | 'hangs' | undefined {
    return name === nameOfServers ? this.addresses : this.#others.get(name);
  }

  #lookUp(name: string, tell: Tell): void {
    const found = this.#find(name);
    const end = (): void => {
      this.#running -= 1;
      this.#waiting.shift()?.();
      if (found === 'hangs') this.hanging.splice(this.hanging.indexOf(name), 1);
      if (found !== undefined && found !== 'hangs') {
        tell(null, found.map(toAddress));
        this.addresses.push(...this.later.splice(0));
      } else {
        const code = found === 'hangs' ? 'EAI_AGAIN' : 'ENOTFOUND';
        tell(Object.assign(new Error(`getaddrinfo ${code} ${name}`), { code, syscall: 'getaddrinfo' }), []);
      }
    };
    const begin = (): void => {
      this.#running += 1;
      this.begun += 1;
      if (found !== 'hangs') {
        if (this.takesMs > 0) setTimeout(end, this.takesMs);
        else process.nextTick(end);
        return;
      }
      this.hanging.push(name);
      this.mostHanging = Math.max(this.mostHanging, this.hanging.length);
      setTimeout(end, hangsMs);
    };
    if (this.#running < threads) begin();
    else this.#waiting.push(begin);
  }
}

type Tell = (error: Error | null, addresses: LookupAddress[]) => void;
type TellRecords = (error: Error | null, addresses: readonly string[]) => void;

function toAddress(address: string): LookupAddress {
  return { address, family: address.includes(':') ? 6 : 4 };
}

/** Half of the four threads of Node.js may wait for name servers. */
const threads = 2;
const hangsMs = 20_000;
