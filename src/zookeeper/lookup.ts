import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { shuffled } from '../support/shuffled.js';

/**
 * Resolves a host name anew at every attempt, because a server may have moved, and shuffles the addresses. A name that
 * stands for several servers must not always lead to the same server, because that server may accept connections and
 * never answer.
 */
export function lookupShuffled(random: () => number): LookupFunction {
  return (hostname, options, callback) => {
    dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
      const found = error ? [] : shuffled(addresses, random);
      const [first] = found;
      if (error || options.all || first === undefined) callback(error, found);
      else callback(null, first.address, first.family);
    });
  };
}
