import { Committed, commitOf, type Commit } from './committed.ts';
import { voteOf } from './election.ts';
import { Lane } from '../virtual/lane.ts';
import type { Leadership } from './leadership.ts';
import { Member, type MemberHost } from './member.ts';
import type { ServerEnd } from './member-connection.ts';
import type { Entry } from './messages.ts';
import type { EnsembleClock, Settings } from './settings.ts';

/**
 * Several ZooKeeper servers in one process, on a clock and a random source that are given: the same numbers give the
 * same history. At the start, the member with the highest number leads, and all others follow it.
 *
 * @example
 * const ensemble = new Ensemble({ clock, random, members: 3, tickTimeMs: 2_000 });
 * ensemble.accept(0, connection);
 */
export class Ensemble implements MemberHost {
  readonly #settings: Settings;
  readonly #members: readonly Member[];
  readonly #cutMembers = new Set<number>();
  readonly #committed: Committed;
  readonly #listeners: ((commit: Commit) => void)[] = [];
  /** All committed entries. Each member applies a part of them, from the first on. */
  readonly #history: Entry[] = [];
  /** It has applied the whole history. */
  #newest: Member;
  #leadership: Leadership;
  #epoch = 0;
  #pending: Commit | undefined;

  constructor(options: EnsembleOptions) {
    this.#settings = settingsOf(options);
    const secret = Math.floor(options.random() * 2 ** 32);
    this.#members = Array.from({ length: options.members }, (_, id) => new Member(id, this.#settings, this, secret));
    for (const member of this.#members) for (const peer of this.#members) if (peer !== member) this.#link(member, peer);
    const leader = this.#member(options.members - 1);
    this.#newest = leader;
    this.#leadership = this.#takeOver(
      leader,
      this.#members.filter((member) => member !== leader),
    );
    this.#committed = new Committed(
      () => this.#newest,
      () => this.#leadership.sessions.views,
    );
  }

  /** The newest leader, while enough members follow it; undefined during an election. */
  get leader(): number | undefined {
    const { member } = this.#leadership;
    if (member.role.at !== 'leading' || member.role.leadership !== this.#leadership) return undefined;
    const followers = this.#members.filter(
      ({ role }) => role.at === 'following' && role.link.leadership === this.#leadership,
    );
    return followers.length + 1 >= this.#settings.quorum ? member.id : undefined;
  }

  /** True if all members run, and follow one leader. */
  get isWhole(): boolean {
    const leadership = this.#leadership;
    return this.#members.every(
      ({ role }) =>
        (role.at === 'leading' && role.leadership === leadership) ||
        (role.at === 'following' && role.link.leadership === leadership),
    );
  }

  /** The number of members. */
  get members(): number {
    return this.#members.length;
  }

  /** A client's connection has arrived at this member. Returns false if the member is down. */
  accept(member: number, connection: ServerEnd): boolean {
    return this.#member(member).accept(connection);
  }

  /** The part of a member in the ensemble. A deposed leader leads until it notices. */
  roleOf(member: number): Member['role']['at'] {
    return this.#member(member).role.at;
  }

  /** Cuts the member off from all others: nothing arrives, but the connections stay. Its clients still reach it. */
  cut(member: number): void {
    this.#cutMembers.add(member);
    this.#updateCuts(member);
  }

  /** Ends a cut. The messages that were under way arrive. */
  heal(member: number): void {
    this.#cutMembers.delete(member);
    this.#updateCuts(member);
  }

  /**
   * The member is slow, as on a slow disk: each message to it and from it takes longer by `byMs`. Returns a function that
   * ends that for later messages.
   */
  slowDown(member: number, byMs: number): () => void {
    const others = this.#members.filter(({ id }) => id !== member);
    const lanes = others.flatMap(({ id, lanes: from }) => [from.get(member), this.#member(member).lanes.get(id)]);
    const add = (moreMs: number): void => {
      for (const lane of lanes) if (lane) lane.slowdownMs += moreMs;
    };
    add(byMs);
    return () => add(-byMs);
  }

  /** Cuts one direction between two members, until `healLink`. */
  cutLink(from: number, to: number): void {
    this.#setCut(from, to, true);
  }

  healLink(from: number, to: number): void {
    this.#setCut(from, to, this.#cutMembers.has(from) || this.#cutMembers.has(to));
  }

  /**
   * Cuts the leader off; its followers notice at once, and elect another one. The old leader goes on answering reads and
   * syncs until it notices. It stays cut off until `heal`. Returns its number; undefined if there is no leader, or if the
   * others are not enough to elect one.
   */
  depose(): number | undefined {
    const { leader } = this;
    const others = this.#members.filter(
      ({ id, role }) => id !== leader && role.at !== 'down' && !this.#cutMembers.has(id),
    );
    if (leader === undefined || others.length < this.#settings.quorum) return undefined;
    this.cut(leader);
    for (const member of others)
      if (member.role.at === 'following' && member.role.link.leadership === this.#leadership) member.stop();
    return leader;
  }

  /** Ends the member's process: its connections end, and it keeps its log. */
  crash(member: number): void {
    this.#member(member).crash();
  }

  /** Starts a member that has crashed. It looks for a leader, and gets what it has missed before it serves clients. */
  restart(member: number): void {
    this.#member(member).restart();
  }

  /** All members, which must be down, have lost their data: they start again with epochs that clients have seen. */
  wipe(): void {
    if (this.#members.some(({ role }) => role.at !== 'down')) throw new Error('A member that runs keeps its data');
    this.#history.length = 0;
    this.#epoch = 0;
    for (const member of this.#members) member.wipe();
  }

  /**
   * The leader proposes the end of the session, as if its client had been silent for its timeout. Returns false if there
   * is no leader, or no such session.
   */
  expire(sessionId: bigint): boolean {
    return this.#asLeader((leadership) => leadership.expire(sessionId));
  }

  /** The leader proposes to delete the znode, as for an operator. Returns false if there is no leader, no such znode, or if it has children. */
  deleteZnode(path: string): boolean {
    return this.#asLeader((leadership) => leadership.delete(path));
  }

  /**
   * The leader proposes to write these data, as for an operator. A missing znode is created. Returns false if there is no
   * leader.
   */
  write(path: string, data: Buffer): boolean {
    return this.#asLeader((leadership) => leadership.write(path, data));
  }

  /** Each member answers so many further requests of the session with THROTTLED_OP, and does not carry them out. */
  throttle(sessionId: bigint, requests: number): void {
    for (const member of this.#members) member.throttle(sessionId, requests);
  }

  committed(): Committed {
    return this.#committed;
  }

  /** The listener is called once for each committed transaction, in order, when it is committed. */
  onCommit(listener: (commit: Commit) => void): void {
    this.#listeners.push(listener);
  }

  /** @internal Called by a member. */
  beforeApply(entry: Entry): void {
    const isNew = entry.index >= this.#history.length && this.#listeners.length > 0;
    this.#pending = isNew ? commitOf(entry, (id) => this.#newest.replica.tree.ephemeralsOf(id)) : undefined;
  }

  /** @internal Called by a member. */
  applied(member: Member, entry: Entry): void {
    const known = this.#history[entry.index];
    if (known !== undefined && known !== entry) throw new Error(`Two transactions were committed at ${entry.index}`);
    if (known !== undefined) return;
    this.#history.push(entry);
    this.#newest = member;
    const commit = this.#pending;
    this.#pending = undefined;
    if (commit) for (const listener of this.#listeners) listener(commit);
  }

  /** @internal Called by a member. */
  elect(member: Member): void {
    const vote = voteOf(member, this.#members, this.#settings.quorum);
    if (vote.is === 'follow') member.follow(vote.leadership);
    else if (vote.is === 'elect') this.#leadership = this.#takeOver(vote.leader, vote.followers);
  }

  #takeOver(leader: Member, followers: readonly Member[]): Leadership {
    this.#epoch += 1;
    const leadership = leader.lead(this.#epoch);
    for (const follower of followers) follower.follow(leadership);
    return leadership;
  }

  #asLeader(act: (leadership: Leadership) => boolean): boolean {
    if (this.leader === undefined) return false;
    const isDone = act(this.#leadership);
    this.#leadership.member.flush();
    return isDone;
  }

  #link(from: Member, to: Member): void {
    const { clock, delayMs } = this.#settings;
    const at = (time: number, run: () => void) => clock.after(Math.max(0, time - clock.now()), run);
    from.lanes.set(to.id, new Lane({ now: () => clock.now(), delayMs, at, arrived: () => to.arrived() }));
  }

  #updateCuts(member: number): void {
    for (const { id } of this.#members) {
      const isCut = this.#cutMembers.has(member) || this.#cutMembers.has(id);
      this.#setCut(member, id, isCut);
      this.#setCut(id, member, isCut);
    }
  }

  #setCut(from: number, to: number, isCut: boolean): void {
    const lane = this.#member(from).lanes.get(to);
    if (lane) lane.isHeld = isCut;
  }

  #member(id: number): Member {
    const member = this.#members[id];
    if (!member) throw new RangeError(`\`member\` must be from 0 to ${this.#members.length - 1}, got ${id}`);
    return member;
  }
}

export interface EnsembleOptions {
  /** Its `now` is also the time of the znodes, in milliseconds since 1970. */
  readonly clock: EnsembleClock;
  /** Numbers from 0 up to, but not including, 1. */
  readonly random: () => number;
  /** The number of servers, 1 to 30. */
  readonly members: number;
  /** Sessions expire at the end of a tick. */
  readonly tickTimeMs: number;
  /** @default two ticks */
  readonly minSessionTimeoutMs?: number;
  /** @default twenty ticks */
  readonly maxSessionTimeoutMs?: number;
  /** The mean delay of a message between two members. One message in thirty takes up to twenty times as long. @default 1 */
  readonly delayMs?: number;
  /** In ticks: for this long, a member that is cut off does not notice it. @default 5 */
  readonly syncLimit?: number;
  /** The mean time that a member looks for a leader. @default 200 */
  readonly electionMs?: number;
  /** @default 60_000 */
  readonly containerCheckIntervalMs?: number;
  /** True allows znodes with a time to live. @default false */
  readonly extendedTypesEnabled?: boolean;
}

function settingsOf(options: EnsembleOptions): Settings {
  const { clock, random, members, tickTimeMs, delayMs = 1, syncLimit = 5, electionMs = 200 } = options;
  if (!Number.isInteger(members) || members < 1 || members > 30)
    throw new RangeError(`\`members\` must be an integer from 1 to 30, got ${members}`);
  return {
    clock,
    random,
    tickTimeMs,
    syncLimit,
    minSessionTimeoutMs: options.minSessionTimeoutMs ?? tickTimeMs * 2,
    maxSessionTimeoutMs: options.maxSessionTimeoutMs ?? tickTimeMs * 20,
    containerCheckIntervalMs: options.containerCheckIntervalMs ?? 60_000,
    version: '3.8',
    extendedTypes: options.extendedTypesEnabled ?? false,
    maxBufferBytes: 0xfffff,
    quorum: Math.floor(members / 2) + 1,
    delayMs: () => {
      const slow = random() < 1 / 30 ? 1 + 19 * random() : 1;
      return delayMs * slow * (0.5 + random());
    },
    electionMs: () => electionMs * 2 * random(),
  };
}
