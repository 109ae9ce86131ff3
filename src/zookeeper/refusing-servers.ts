/**
 * Which servers of the connect string have refused this client's account. A host name may stand for several servers, so
 * each of its addresses counts.
 */
export class RefusingServers {
  readonly #names = new Map<string, Name>();
  #dialled: Name = { known: new Map(), refusing: new Set() };

  /** Begins an attempt to connect to `name`, which is resolved anew. */
  dial(name: string): void {
    this.#dialled = { known: new Map(), refusing: this.#names.get(name)?.refusing ?? new Set() };
    this.#names.set(name, this.#dialled);
  }

  /** The name of this attempt stands for `address`, among others. */
  found(address: string, family: number): void {
    this.#dialled.known.set(address, family);
  }

  /** The server of this attempt refused the account. */
  refused(address: string | undefined): void {
    if (address !== undefined) this.#dialled.refusing.add(address);
  }

  /** A server has accepted the account. */
  clear(): void {
    for (const { refusing } of this.#names.values()) refusing.clear();
  }

  /**
   * True if all addresses of one family refused. A server may have an address of each family, and this machine may
   * reach only one family.
   */
  haveAllRefused(name: string): boolean {
    const found = this.#names.get(name);
    // An IP address in the connect string is not looked up.
    if (found === undefined || found.known.size === 0) return true;
    const others = [...found.known].filter(([address]) => !found.refusing.has(address));
    const familiesOfOthers = new Set(others.map(([, family]) => family));
    return [...found.known.values()].some((family) => !familiesOfOthers.has(family));
  }
}

interface Name {
  /** The addresses at the last lookup, with their families. */
  readonly known: Map<string, number>;
  readonly refusing: Set<string>;
}
