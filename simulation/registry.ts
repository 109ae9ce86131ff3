import { isIP } from 'node:net';
import { HostNames } from '../src/zookeeper/network/host-names.ts';
import type { Clock } from '../src/support/clock.ts';
import type { Move, MovedHost } from './plan.ts';

/** The list of the servers, for the clients whose application passes a function that returns it. */
export class Registry {
  readonly #ports: readonly number[];
  /** The moves that have not ended. The newest one counts. */
  readonly #moves = new Set<Move>();
  #lookupMs: number | undefined;

  constructor(ports: readonly number[]) {
    this.#ports = ports;
  }

  /** Returns a function that ends the move. */
  begin(move: Move): () => void {
    const own = { ...move };
    this.#moves.add(own);
    return () => this.#moves.delete(own);
  }

  /** The members have names from now on, whose lookups take so long. */
  rename(lookupMs: number): void {
    this.#lookupMs = lookupMs;
  }

  /** The port that a client reaches at this host. */
  portAt(host: string, port: number): number {
    return this.#lookupMs !== undefined && isIP(host) !== 0 ? nobody : port;
  }

  /** The function of one application. Its first call succeeds at once, because otherwise there may be no client. */
  functionFor(clock: Clock): () => string | Promise<string> {
    let isFirst = true;
    return () => {
      const move = [...this.#moves].at(-1);
      if (isFirst) {
        isFirst = false;
        return this.#listOf(Array.isArray(move?.to) ? move : undefined)();
      }
      const list = this.#listOf(move);
      if (move === undefined || move.afterMs === 0) return list();
      return new Promise((resolve) => clock.after(move.afterMs, () => resolve(undefined))).then(list);
    };
  }

  #listOf(move: Move | undefined): () => string {
    const { to = this.#ports.map((_, member) => ({ member })) } = move ?? {};
    return () => {
      if (to === 'throws') throw new Error('the registry is down');
      return to === 'empty' ? '' : to.map((host) => this.#textOf(host)).join(',');
    };
  }

  #textOf({ member, lookupMs = this.#lookupMs }: MovedHost): string {
    const host = lookupMs === undefined ? '127.0.0.1' : `m${member}.in-${lookupMs}-ms`;
    return `${host}:${this.#ports[member % this.#ports.length] ?? 0}`;
  }
}

/** The name servers of one process: each name says how long its lookup takes. */
export function namesFor(clock: Clock): HostNames {
  const lookup = (name: string): Promise<{ address: string; family: number }[]> =>
    new Promise((resolve) => {
      clock.after(Number(/\d+(?=-ms$)/.exec(name)), () => resolve([{ address: '127.0.0.1', family: 4 }]));
    });
  return new HostNames({ lookup, probe: () => () => undefined }, clock);
}

/** A port at which nobody listens. */
const nobody = 1;
