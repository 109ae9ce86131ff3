import type { EnsembleModel } from './ensemble-model.ts';
import type { FromFollower, FromLeader, Link, Proposal, Request } from './messages.ts';
import type { ServerModel } from './server-model.ts';

const quorum = 2;

/**
 * One leader from its takeover to its end (Leader, LearnerHandler, SessionTrackerImpl). A deposed leader does not know
 * that it is deposed.
 */
export class LeaderModel {
  readonly epoch: number;
  readonly server: ServerModel;
  /** The followers whose links are not closed, as far as this leader knows. */
  readonly links: Link[] = [];
  readonly #ensemble: EnsembleModel;
  readonly #outstanding: Proposal[] = [];
  readonly #pendingSyncs: { readonly behind: Proposal; readonly request: Request; readonly link: Link | undefined }[] =
    [];
  #tick = 0;
  #isHalfTick = false;
  #pingedAt: number;
  /** The session is over, or about to be. Nothing extends it any more. */
  #isClosing: boolean;

  constructor(ensemble: EnsembleModel, server: ServerModel, epoch: number) {
    this.#ensemble = ensemble;
    this.server = server;
    this.epoch = epoch;
    this.#pingedAt = ensemble.now;
    this.#isClosing = server.log.isClosed;
    server.expiry.at = Infinity;
    this.touch(ensemble.scenario.timeoutMs);
    this.#schedule(1);
  }

  get isDeposed(): boolean {
    return this.epoch < this.#ensemble.epoch;
  }

  join(link: Link): void {
    link.syncedUntilTick = this.#tick + this.#ensemble.scenario.syncLimit;
    const old = this.links.findIndex(({ follower }) => follower === link.follower);
    if (old >= 0) this.links.splice(old, 1);
    this.links.push(link);
    for (const proposal of this.#outstanding) this.#send(link, { is: 'proposal', proposal });
  }

  receive(link: Link, message: FromFollower): void {
    if (!this.links.includes(link)) return;
    link.syncedUntilTick = this.#tick + this.#ensemble.scenario.syncLimit;
    switch (message.is) {
      case 'pong':
        if (message.touchedMs > 0) this.touch(message.touchedMs);
        this.#ensemble.moment('ponged');
        return;
      case 'ack':
        message.proposal.acks |= 1 << link.follower.id;
        this.#commit();
        this.#ensemble.moment('acknowledged');
        return;
      case 'submit':
        // A forwarded request does not touch the session: only the answer to a ping does.
        this.submit(message.request, link);
        this.#ensemble.moment('submitted');
        return;
      case 'validate':
        this.#send(link, { is: 'validated', connection: message.connection, isValid: this.touch(message.timeoutMs) });
        return;
      case 'end':
        this.links.splice(this.links.indexOf(link), 1);
    }
  }

  submit(request: Request, link?: Link): void {
    if (request.kind === 'write') {
      if (!this.#isClosing) this.#propose(request);
      return;
    }
    // No quorum is needed: a deposed leader with no outstanding proposal answers at once (ZOOKEEPER-1675).
    const behind = this.#outstanding.at(-1);
    if (behind) this.#pendingSyncs.push({ behind, request, link });
    else {
      if (this.isDeposed) this.#ensemble.syncsOfDeposed += 1;
      this.#synced(request, link);
    }
  }

  /** SessionTrackerImpl.touchSession; false: the session does not exist. */
  touch(timeoutMs: number): boolean {
    if (this.#isClosing) return false;
    const { expiryIntervalMs } = this.#ensemble.scenario;
    const until = this.#ensemble.now * this.server.rate + timeoutMs;
    const rounded = expiryIntervalMs === 0 ? until : (Math.floor(until / expiryIntervalMs) + 1) * expiryIntervalMs;
    this.server.expiry.at = rounded / this.server.rate;
    return true;
  }

  expire(): void {
    this.#isClosing = true;
    this.#ensemble.decided(this);
    this.#propose(undefined);
  }

  /** One turn of Leader.lead: every half tick it checks its quorum (every second time), then pings. */
  turn(): void {
    this.#isHalfTick = !this.#isHalfTick;
    if (!this.#isHalfTick) {
      this.#tick += 1;
      for (const link of [...this.links]) if (this.#tick > link.syncedUntilTick) this.#drop(link);
      if (this.links.length + 1 < quorum) {
        this.server.stopLeading();
        return;
      }
    }
    this.#ping();
    this.#schedule(this.#ensemble.scenario.pingGap());
  }

  end(): void {
    for (const link of [...this.links]) this.#drop(link);
  }

  #schedule(halfTicks: number): void {
    this.server.turn.at = this.#ensemble.now + (halfTicks * this.#ensemble.scenario.tickMs) / 2 / this.server.rate;
  }

  #ping(): void {
    this.#pingedAt = this.#ensemble.now;
    for (const link of this.links) this.#send(link, { is: 'ping' });
  }

  #propose(request: Request | undefined): void {
    const proposal = { index: this.server.log.index + 1, request, acks: 1 << this.server.id };
    this.server.record(proposal);
    this.#outstanding.push(proposal);
    for (const link of this.links) this.#send(link, { is: 'proposal', proposal });
  }

  #commit(): void {
    for (
      let proposal = this.#outstanding[0];
      proposal && bits(proposal.acks) >= quorum;
      proposal = this.#outstanding[0]
    ) {
      // The only assumption of the session clock: a leader that still commits never leaves relayMs between two pings. A
      // leader that slept for longer pings first.
      if (this.#ensemble.now - this.#pingedAt >= this.#ensemble.scenario.pingLimitMs) this.#ping();
      this.#outstanding.shift();
      for (const link of this.links) this.#send(link, { is: 'commit', proposal });
      this.server.apply(proposal);
      if (proposal.request === undefined) this.#ensemble.closed();
      while (this.#pendingSyncs[0]?.behind === proposal) {
        const { request, link } = this.#pendingSyncs[0];
        this.#pendingSyncs.shift();
        this.#synced(request, link);
      }
    }
  }

  #synced(request: Request, link: Link | undefined): void {
    if (link) this.#send(link, { is: 'synced', request });
    else this.server.done(request);
  }

  #drop(link: Link): void {
    this.links.splice(this.links.indexOf(link), 1);
    this.#send(link, { is: 'end' });
  }

  #send(link: Link, message: FromLeader): void {
    this.server.toFollower(link, message);
  }
}

function bits(mask: number): number {
  return (mask & 1) + ((mask >> 1) & 1) + ((mask >> 2) & 1);
}
