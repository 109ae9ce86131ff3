import { decodeClaim, encodeClaim, type Claim } from '../../src/weighted/claim.ts';
import { protectedPrefix } from '../../src/driver/names.ts';
import { weightedChild, weightedLockName, type WeightedChild } from '../../src/weighted/weighted-name.ts';
import { WeightedQueue } from '../../src/weighted/weighted-queue.ts';

/** The next action of a client in the model. Each action is one request. */
type State =
  | { readonly at: 'awake' }
  /** It has read the claim, but not yet listed the children. */
  | { readonly at: 'listing'; readonly data: Uint8Array; readonly version: number }
  | { readonly at: 'claiming'; readonly claim: Claim; readonly version: number }
  | { readonly at: 'watching'; readonly watch: string; readonly version: number | undefined }
  | { readonly at: 'asleep'; readonly watch: string; readonly version: number | undefined }
  | { readonly at: 'holding' };

export interface Client {
  readonly child: WeightedChild;
  state: State;
  /** The number of later waiters that overtook it while it waited. */
  overtaken: number;
}

/** One grant, as the servers have committed it. */
export interface GrantOfModel {
  readonly child: WeightedChild;
  /** The transaction id of the claim. */
  readonly token: number;
  /** The clients that came earlier and still wait. */
  readonly overtook: readonly Client[];
  readonly overtakers: number;
}

/**
 * A weighted lock on one ZooKeeper, with every interleaving of its clients' requests. The clients decide by the
 * library's own code; the server is modelled. A watch fires once. A client that plants a watch too late learns so at
 * once, as from the answer to getData.
 */
export class WeightedLockModel {
  readonly clients: Client[] = [];
  readonly grants: GrantOfModel[] = [];
  #data: Uint8Array = new Uint8Array(0);
  #version = 0;
  #sequence = 0;
  #zxid = 0;

  /** The clients that have a znode. */
  get waiters(): Client[] {
    return this.clients.filter(({ state }) => state.at !== 'holding');
  }

  get holders(): Client[] {
    return this.clients.filter(({ state }) => state.at === 'holding');
  }

  /** The clients that have a next action. */
  get busy(): Client[] {
    return this.clients.filter(({ state }) => state.at !== 'holding' && state.at !== 'asleep');
  }

  /** The name of the child that the claim names, if this child exists. */
  get holderByClaim(): string | undefined {
    const claim = decodeClaim(this.#data);
    return typeof claim === 'string'
      ? undefined
      : this.clients.find(({ child }) => child.name === claim.holder)?.child.name;
  }

  arrive(weight: number, overtakesPerWeight: number): Client {
    const sequence = String(this.#sequence++).padStart(10, '0');
    const uuid = `00000000-0000-4000-8000-${String(this.#sequence).padStart(12, '0')}`;
    const child = weightedChild(`${protectedPrefix(uuid, weightedLockName(weight, overtakesPerWeight))}${sequence}`);
    if (child === undefined) throw new Error('The model has created a name that it cannot parse');
    this.#zxid += 1;
    const client: Client = { child, state: { at: 'awake' }, overtaken: 0 };
    this.clients.push(client);
    return client;
  }

  /** A release, a timeout or a crash: the znode is deleted. */
  leave(client: Client): void {
    const index = this.clients.indexOf(client);
    if (index < 0) return;
    this.clients.splice(index, 1);
    this.#zxid += 1;
    this.#wake(({ watch }) => watch === client.child.name);
  }

  /** Sends the next request of one client, and handles the answer. `isLost`: the answer to a claim does not arrive. */
  step(client: Client, { isLost = false } = {}): void {
    const { state } = client;
    if (state.at === 'awake') client.state = { at: 'listing', data: this.#data, version: this.#version };
    else if (state.at === 'listing') client.state = this.#decide(client, state.data, state.version);
    else if (state.at === 'claiming')
      client.state = this.#claim(client, state.claim, state.version) && !isLost ? { at: 'holding' } : { at: 'awake' };
    else if (state.at === 'watching')
      client.state = this.#isAsShown(state) ? { ...state, at: 'asleep' } : { at: 'awake' };
  }

  #decide(client: Client, data: Uint8Array, version: number): State {
    const claim = decodeClaim(data);
    const queue = new WeightedQueue(
      this.clients.map(({ child }) => child),
      typeof claim === 'string' ? undefined : claim,
    );
    const standing = queue.standingOf(client.child.name);
    if (standing.is === 'holder') return { at: 'holding' };
    if (standing.is === 'next') return { at: 'claiming', claim: queue.claimOf(client.child.name), version };
    if (standing.is === 'absent') throw new Error(`${client.child.name} exists, but was not found`);
    return { at: 'watching', watch: standing.watch, version: standing.watchesClaim ? version : undefined };
  }

  #isAsShown({ watch, version }: { readonly watch: string; readonly version: number | undefined }): boolean {
    return (
      this.clients.some(({ child }) => child.name === watch) && (version === undefined || version === this.#version)
    );
  }

  #claim(client: Client, claim: Claim, version: number): boolean {
    if (version !== this.#version) return false;
    this.#zxid += 1;
    this.#version += 1;
    this.#data = encodeClaim(claim);
    const overtook = this.clients.filter((one) => one !== client && one.child.sequence < client.child.sequence);
    for (const one of overtook) one.overtaken += 1;
    this.grants.push({ child: client.child, token: this.#zxid, overtook, overtakers: claim.overtakers.length });
    this.#wake((asleep) => asleep.version !== undefined);
    return true;
  }

  #wake(isMeant: (state: State & { at: 'asleep' }) => boolean): void {
    for (const client of this.clients)
      if (client.state.at === 'asleep' && isMeant(client.state)) client.state = { at: 'awake' };
  }
}
