import type { DelayedLinks } from '../links/delayed-links.ts';
import { delaysMs, type Addresses, type Place } from '../places.ts';

/** Counted by the servers. */
export interface Traffic {
  readonly requests: number;
  readonly bytes: number;
}

/** The servers that some of the peers talk to. */
export interface Service extends AsyncDisposable {
  readonly addresses: Addresses;
  traffic(place: Place): Promise<Traffic>;
}

export interface ServiceOptions {
  readonly links: DelayedLinks;
  /** Leaves out the ensemble of three servers. */
  readonly isBrief: boolean;
}

/** The places of one server: near, and behind the links. */
export async function placesOf(port: number, links: DelayedLinks): Promise<Addresses> {
  return {
    loopback: [address(port)],
    '1 ms links': [address(await links.open(port, delaysMs['1 ms links']))],
    '5 ms links': [address(await links.open(port, delaysMs['5 ms links']))],
  };
}

export function address(port: number): string {
  return `127.0.0.1:${port}`;
}

export function sum(traffics: readonly Traffic[]): Traffic {
  return {
    requests: traffics.reduce((all, { requests }) => all + requests, 0),
    bytes: traffics.reduce((all, { bytes }) => all + bytes, 0),
  };
}
