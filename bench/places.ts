/** How far the servers are from the clients, and how many servers there are. */
export type Place = 'loopback' | '1 ms links' | '5 ms links' | 'ensemble';

/** The `host:port` of the servers of each place: session number `i` connects to the server number `i` modulo their count. */
export type Addresses = Partial<Readonly<Record<Place, readonly string[]>>>;

/** The delay of each direction. */
export const delaysMs = { '1 ms links': 1, '5 ms links': 5 } as const;

export function addressesOf(addresses: Addresses, place: Place = 'loopback'): readonly string[] {
  const found = addresses[place];
  if (found === undefined) throw new Error(`No servers for the place ${place}`);
  return found;
}

export function addressOf(addresses: Addresses, place: Place | undefined, session: number): string {
  const all = addressesOf(addresses, place);
  const address = all[session % all.length];
  if (address === undefined) throw new Error(`No server for session ${session}`);
  return address;
}
