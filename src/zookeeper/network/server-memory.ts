import { shuffled } from '../../support/chance.js';
import { keepNewest } from '../../support/keep-newest.js';
import type { Address } from './host-names.js';

/** The addresses and the time of the last connections to each server, by `host:port`, for all clients of a process. */
export class ServerMemory {
  readonly #servers = new Map<string, Server>();

  /** A server granted a session, this long after it was dialled. */
  granted(name: string, address: string | undefined, tookMs: number): void {
    this.#keep(name, { tookMs, working: address, failed: [] });
  }

  /** The address accepted a connection, and served no session. */
  failed(name: string, address: string | undefined): void {
    if (address === undefined) return;
    const { tookMs = 0, working, failed = [] } = this.#servers.get(name) ?? {};
    this.#keep(name, {
      tookMs,
      working: working === address ? undefined : working,
      failed: [...failed.filter((other) => other !== address), address].slice(-mostFailed),
    });
  }

  /** The longest time that one of these servers needed for the last session that it granted. */
  longestMs(names: readonly string[]): number {
    return Math.max(0, ...names.map((name) => this.#servers.get(name)?.tookMs ?? 0));
  }

  /**
   * The addresses in the order to dial them: the one that worked last, then the others in random order, because each may
   * be another server. The last ones are those that have served no session since, the latest failure at the end.
   */
  inOrder(name: string, addresses: readonly Address[], random: () => number): string[] {
    const { working, failed = [] } = this.#servers.get(name) ?? {};
    const rank = (address: string): number => (address === working ? -2 : failed.indexOf(address));
    return shuffled(addresses, random)
      .map(({ address }) => address)
      .sort((one, other) => rank(one) - rank(other))
      .slice(0, mostAddresses);
  }

  #keep(name: string, server: Server): void {
    keepNewest(this.#servers, name, server, mostServers);
  }
}

interface Server {
  readonly tookMs: number;
  readonly working: string | undefined;
  readonly failed: readonly string[];
}

/** A program may get ever new servers from a registry. */
const mostServers = 1_000;
const mostFailed = 100;
/** The number of connections that one attempt may open. The next attempt draws others. */
const mostAddresses = 8;
