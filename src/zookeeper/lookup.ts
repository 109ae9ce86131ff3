import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { shuffled } from '../support/shuffled.js';

/**
 * Asks for a name's addresses anew at every attempt, since a server may have moved, and puts them in a random order: a
 * name that stands for
 * several servers must not lead to the same one for ever, when that one accepts and says nothing.
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
