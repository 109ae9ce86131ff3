import type { CancelTimer } from '../../src/support/clock.ts';
import type { Proposal } from '../../packages/testing/src/tree/proposal.ts';
import { Proposer } from '../../packages/testing/src/tree/proposer.ts';
import { opcodes } from '../wire/opcodes.ts';
import { RecordWriter } from '../wire/record.ts';
import { openAcl } from '../wire/request.ts';
import { LeaderSessions } from './leader-sessions.ts';
import type { Member } from './member.ts';
import type { Entry, FromFollower, FromLeader, Link, Request } from './messages.ts';
import { OutstandingChanges } from './outstanding-changes.ts';
import type { Settings } from './settings.ts';

/**
 * One leader from its takeover to its end (Java's Leader, LearnerHandler and PrepRequestProcessor). A deposed leader
 * does not know that it is deposed.
 */
export class Leadership {
  readonly epoch: number;
  readonly member: Member;
  readonly sessions: LeaderSessions;
  readonly #settings: Settings;
  readonly #links: Link[] = [];
  readonly #changes: OutstandingChanges;
  readonly #proposer: Proposer;
  /** The proposals that are not committed, with one bit for each member that has them in its log. */
  readonly #outstanding: { readonly entry: Entry; acks: number }[] = [];
  readonly #unprepared: { readonly request: Request; readonly link: Link }[] = [];
  readonly #pendingSyncs: { readonly behind: Entry; readonly request: Request; readonly link: Link }[] = [];
  readonly #cancels = new Map<'turn' | 'expire' | 'reap', CancelTimer>();
  #tick = 0;
  #isHalfTick = false;

  constructor(member: Member, epoch: number, settings: Settings) {
    this.member = member;
    this.epoch = epoch;
    this.#settings = settings;
    const { tree } = member.replica;
    const firstZxid = epoch * 2 ** 32;
    member.replica.startEpoch(firstZxid);
    this.#changes = new OutstandingChanges(tree);
    this.#proposer = new Proposer(this.#changes, settings, firstZxid);
    this.sessions = new LeaderSessions(settings.tickTimeMs);
    // A new leader knows only the timeouts that the sessions were opened with.
    for (const [id, timeoutMs] of member.sessions) this.sessions.open(id, timeoutMs, undefined, settings.clock.now());
    this.#every('turn', settings.tickTimeMs / 2, () => this.#turn(), settings.random() * settings.tickTimeMs);
    this.#every('expire', settings.tickTimeMs, () => this.#expire());
    this.#every('reap', settings.containerCheckIntervalMs, () => this.#reap(), settings.clock.now());
  }

  get followers(): readonly Member[] {
    return this.#links.map(({ follower }) => follower);
  }

  join(link: Link): void {
    const old = this.#links.findIndex(({ follower }) => follower === link.follower);
    if (old >= 0) this.#links.splice(old, 1);
    this.#links.push(link);
    this.#heard(link);
    for (const { entry } of this.#outstanding) this.#send(link, { is: 'proposal', entry });
  }

  receive(link: Link, message: FromFollower): void {
    if (!this.#links.includes(link)) return;
    this.#heard(link);
    switch (message.is) {
      case 'pong':
        for (const [id, timeoutMs] of message.touched) this.sessions.touch(id, timeoutMs, this.#settings.clock.now());
        return;
      case 'ack':
        this.#acknowledged(message.entry, link.follower);
        return;
      case 'submit':
        this.#unprepared.push({ request: message.request, link });
        return;
      case 'validate': {
        const { sessionId, timeoutMs } = message;
        const isValid = this.validate(sessionId, timeoutMs, link.follower.id);
        this.#send(link, { is: 'validated', sessionId, isValid });
        return;
      }
      case 'end':
        this.#links.splice(this.#links.indexOf(link), 1);
    }
  }

  /**
   * Prepares the requests of the followers. They wait in the queue of the PrepRequestProcessor while the LearnerHandler
   * reads on, and moves the sessions of the ConnectRequests that arrived behind them. This does not touch the sessions:
   * only the answer to a ping does.
   */
  prepare(): void {
    for (const { request, link } of this.#unprepared.splice(0)) this.submit(request, link);
  }

  /** A client connects with a session that exists. Returns false if the session is over. */
  validate(sessionId: bigint, timeoutMs: number, owner: number): boolean {
    if (!this.sessions.touch(sessionId, timeoutMs, this.#settings.clock.now())) return false;
    this.sessions.move(sessionId, owner);
    return true;
  }

  /** @param link undefined: a client of the leader itself has sent the request */
  submit(request: Request, link?: Link): void {
    const { connection } = request;
    const { sessionId, timeoutMs, identities } = connection;
    const owner = link?.follower.id ?? this.member.id;
    switch (request.is) {
      case 'sync':
        if (link) this.#sync(request, link);
        return;
      case 'open':
        this.sessions.open(sessionId, timeoutMs, owner, this.#settings.clock.now());
        this.#propose(this.#proposer.openSession(sessionId, timeoutMs), request);
        return;
      case 'close':
        // Java does not check the owner here.
        this.sessions.close(sessionId);
        this.#closeSession(sessionId, request);
        return;
      case 'change': {
        const refusal = this.sessions.refusalOf(sessionId, owner);
        const asker = { sessionId, identities, refusal };
        this.#propose(this.#proposer.propose(asker, request.opcode, request.body, this.#time()), request);
      }
    }
  }

  /** Ends a session as its timeout would. Returns false if it is over, or about to be. */
  expire(sessionId: bigint): boolean {
    if (!this.sessions.close(sessionId)) return false;
    this.#closeSession(sessionId);
    return true;
  }

  /** Deletes a znode without asking for anyone's permission. Returns false if it does not exist, or has children. */
  delete(path: string): boolean {
    const znode = this.#changes.get(path);
    if (!znode || znode.childCount > 0 || path === '/' || path === '') return false;
    const proposal = this.#proposer.delete(path);
    this.#changes.delete(proposal.zxid, [path]);
    this.#propose(proposal);
    return true;
  }

  /** Writes the data of a znode, and creates it if it is missing, as an operator who may do all. */
  write(path: string, data: Buffer): boolean {
    const record = new RecordWriter().bytes(path).bytes(data);
    const isThere = this.#changes.get(path) !== undefined;
    if (isThere) record.int(-1);
    else record.vector(openAcl, (item) => record.int(item.permissions).bytes(item.scheme).bytes(item.id)).int(0);
    const opcode = isThere ? opcodes.setData : opcodes.create;
    this.#propose(this.#proposer.propose({ sessionId: 0n, identities: [] }, opcode, record.body(), this.#time()));
    return true;
  }

  end(): void {
    for (const cancel of this.#cancels.values()) cancel();
    this.#cancels.clear();
    for (const link of [...this.#links]) this.#drop(link);
  }

  #heard(link: Link): void {
    link.syncedUntilTick = this.#tick + this.#settings.syncLimit;
  }

  /** Every half tick. Every second time, it checks first that a quorum follows. */
  #turn(): void {
    this.#isHalfTick = !this.#isHalfTick;
    if (!this.#isHalfTick) {
      this.#tick += 1;
      for (const link of [...this.#links]) if (this.#tick > link.syncedUntilTick) this.#drop(link);
      if (this.#links.length + 1 < this.#settings.quorum) {
        this.member.stop();
        return;
      }
    }
    for (const link of this.#links) this.#send(link, { is: 'ping' });
  }

  #expire(): void {
    for (const id of this.sessions.expired(this.#settings.clock.now())) this.expire(id);
  }

  #reap(): void {
    for (const path of this.member.replica.tree.reapable(this.#time())) this.delete(path);
  }

  #sync(request: Request, link: Link): void {
    // No quorum is needed: a deposed leader with no outstanding proposal answers at once (ZOOKEEPER-1675).
    const behind = this.#outstanding.at(-1)?.entry;
    if (behind) this.#pendingSyncs.push({ behind, request, link });
    else this.#send(link, { is: 'synced', request });
  }

  #closeSession(sessionId: bigint, request?: Request): void {
    const paths = this.#changes.ephemeralsOf(sessionId);
    const proposal = this.#proposer.closeSession(sessionId);
    this.#changes.delete(proposal.zxid, paths);
    this.#propose(proposal, request);
  }

  #propose(proposal: Proposal, request?: Request): void {
    const entry: Entry = { index: this.member.log.length, proposal, request };
    this.member.log.push(entry);
    this.#outstanding.push({ entry, acks: 0 });
    for (const link of this.#links) this.#send(link, { is: 'proposal', entry });
    this.#acknowledged(entry, this.member);
  }

  #acknowledged(entry: Entry, member: Member): void {
    const proposal = this.#outstanding[entry.index - (this.#outstanding[0]?.entry.index ?? 0)];
    if (proposal?.entry !== entry) return;
    proposal.acks |= 1 << member.id;
    let committed: Entry | undefined;
    for (let [first] = this.#outstanding; first && this.#hasQuorum(first.acks); [first] = this.#outstanding) {
      this.#outstanding.shift();
      committed = first.entry;
    }
    if (committed) this.#commit(committed);
  }

  #hasQuorum(acks: number): boolean {
    let count = 0;
    for (let rest = acks; rest !== 0; rest &= rest - 1) count += 1;
    return count >= this.#settings.quorum;
  }

  #commit({ index, proposal }: Entry): void {
    for (const link of this.#links) this.#send(link, { is: 'commit', index });
    this.member.applyUntil(index);
    this.#changes.applied(proposal.zxid);
    for (let [first] = this.#pendingSyncs; first && first.behind.index <= index; [first] = this.#pendingSyncs) {
      this.#pendingSyncs.shift();
      this.#send(first.link, { is: 'synced', request: first.request });
    }
  }

  #drop(link: Link): void {
    this.#links.splice(this.#links.indexOf(link), 1);
    this.#send(link, { is: 'end' });
  }

  #send(link: Link, message: FromLeader): void {
    this.member.sendTo(link.follower, { link, to: 'follower', message });
  }

  /** Runs `run` at the multiples of the interval, counted from `phaseMs`. */
  #every(name: 'turn' | 'expire' | 'reap', intervalMs: number, run: () => void, phaseMs = 0): void {
    const { clock } = this.#settings;
    const cancel = clock.after(intervalMs - ((clock.now() + intervalMs * 2 - phaseMs) % intervalMs), () => {
      this.#every(name, intervalMs, run, phaseMs);
      run();
      this.member.flush();
    });
    this.#cancels.set(name, cancel);
  }

  #time(): number {
    return Math.floor(this.#settings.clock.now());
  }
}
