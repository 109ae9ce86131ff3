import { getEventListeners } from 'node:events';
import { setImmediate as immediate } from 'node:timers/promises';
import { expect } from 'chai';
import type { LockHost } from '../../src/client/lock-host.ts';
import { Companions } from '../../src/support/companions.ts';
import type { Deadline } from '../../src/support/deadline.ts';
import { lockDeadline } from '../../src/internals/lock-deadline.ts';
import { Retries } from '../../src/internals/retries.ts';
import type { Session } from '../../src/zookeeper/session/session.ts';
import { ManualClock } from '../../lab/manual-clock.ts';
import { rejection } from '../../lab/until.ts';

class Client {
  readonly clock = new ManualClock();
  readonly deadlines = new Set<Deadline>();
  readonly sessions = { current: { holdings: new Set(), isConnected: true, companions: new Companions({}) } };
  readonly report = { state: 'connected', silence: () => undefined };
  isClosing = false;

  close(): void {
    this.isClosing = true;
    for (const each of this.deadlines) each.closing();
  }
}

describe('Deadline', () => {
  let client: Client;
  const deadline = (options: { timeoutMs?: number; signal?: AbortSignal } = {}): Deadline =>
    lockDeadline(client as unknown as LockHost, '/lock', options);
  const never = (): (() => void) => () => undefined;

  beforeEach(() => (client = new Client()));

  it('covers the question whether the session of a deleted znode has expired', async () => {
    const session = { endsAt: 0, isEnded: false, ask: () => new Promise(() => undefined) };
    const asking = new Retries(Object.assign(client, { options: {} }) as unknown as LockHost).pauseAfterDeletion(
      session as unknown as Session,
      '/lock',
      deadline({ timeoutMs: 100 }),
    );
    const error = rejection(Promise.race([asking, immediate()]));
    client.clock.advance(100);
    expect((await error).code).to.equal('ERR_LOCK_TIMEOUT');
  });

  it('is over at its deadline, for any pending wait', async () => {
    const one = deadline({ timeoutMs: 100 });
    const first = one.wait<number>((wake) => client.clock.after(60, () => wake(1)));
    client.clock.advance(60);
    expect(await first).to.equal(1);
    const second = rejection(one.wait(never));
    client.clock.advance(39);
    expect(one.isExpired).to.equal(false);
    client.clock.advance(1);
    expect((await second).code).to.equal('ERR_LOCK_TIMEOUT');
    expect(() => one.check()).to.throw('100 ms');
  });

  it('is over with the reason of its signal, even if that had aborted before', async () => {
    const controller = new AbortController();
    const waiting = rejection(deadline({ signal: controller.signal }).wait(never));
    const reason = new Error('enough');
    controller.abort(reason);
    expect(await waiting).to.equal(reason);
    expect(await rejection(deadline({ signal: controller.signal }).wait(never))).to.equal(reason);
  });

  it('is over when the client closes, even if that had closed before', async () => {
    const waiting = rejection(deadline().wait(never));
    client.close();
    expect((await waiting).code).to.equal('ERR_LOCK_CLIENT_CLOSED');
    expect((await rejection(deadline().wait(never))).code).to.equal('ERR_LOCK_CLIENT_CLOSED');
  });

  it('cancels its subscriptions after it was woken, has failed, is over, or was woken while it subscribed', async () => {
    let open = 0;
    const subscribed =
      (how: (wake: (value: unknown) => void, fail: (error: unknown) => void) => void) =>
      (wake: (value: unknown) => void, fail: (error: unknown) => void) => {
        open += 1;
        how(wake, fail);
        return () => void (open -= 1);
      };
    const one = deadline({ timeoutMs: 10 });
    const onEnd = one.onEnd.bind(one);
    one.onEnd = (listener) => {
      open += 1;
      const stop = onEnd(listener);
      return () => {
        open -= 1;
        stop();
      };
    };
    await one.wait(subscribed((wake) => wake(1)));
    await one.wait(subscribed((wake) => void Promise.resolve().then(wake)));
    await rejection(one.wait(subscribed((_, fail) => void Promise.resolve().then(() => fail(new Error('no'))))));
    const last = rejection(one.wait(subscribed(() => undefined)));
    client.clock.advance(10);
    await last;
    expect(open).to.equal(0);
  });

  it('leaves no timer and no listener behind when the call has settled, or has ended', () => {
    const { signal } = new AbortController();
    const one = deadline({ timeoutMs: 1_000, signal });
    const two = deadline({ signal });
    deadline({ timeoutMs: 1_000, signal }).end(new Error('The call has failed'));
    expect(client.clock.timers).to.equal(1);
    expect(getEventListeners(signal, 'abort')).to.have.length(1);
    one.dispose();
    two.dispose();
    expect(client.clock.timers).to.equal(0);
    expect(client.deadlines.size).to.equal(0);
    expect(getEventListeners(signal, 'abort')).to.have.length(0);
  });

  it('is over when its deadline has passed, also if the timer could not run yet', async () => {
    const one = deadline({ timeoutMs: 100 });
    const told: unknown[] = [];
    one.onEnd((error) => told.push(error));
    client.clock.stall(100);
    expect(one.isExpired).to.equal(true);
    expect(told).to.have.length(1);
    expect(() => one.check()).to.throw('100 ms');
    expect(
      (
        await rejection(
          one.wait((wake) => {
            wake(1);
            return () => undefined;
          }),
        )
      ).code,
    ).to.equal('ERR_LOCK_TIMEOUT');
  });

  it('calls a listener at once that is added after its end', () => {
    const one = deadline({ timeoutMs: 5 });
    const told: unknown[] = [];
    client.clock.advance(5);
    one.onEnd((error) => told.push(error));
    expect(told).to.have.length(1);
  });

  it('calls no listener that was removed before its end', () => {
    const one = deadline({ timeoutMs: 5 });
    const told: unknown[] = [];
    one.onEnd((error) => told.push(error))();
    client.clock.advance(5);
    expect(told).to.be.empty;
  });

  it('ends for a reason of the call: every pending wait rejects with that reason', async () => {
    const one = deadline();
    const waiting = rejection(one.wait(never));
    const reason = new Error('foreign children');
    one.end(reason);
    expect(await waiting).to.equal(reason);
    expect(() => one.check()).to.throw(reason);
  });

  describe('limit', () => {
    it('resolves with the result of a call that ends in time', async () => {
      const one = deadline({ timeoutMs: 100 });
      expect(await one.limit(() => Promise.resolve(7), never)).to.equal(7);
      expect(await rejection(one.limit(() => Promise.reject(new Error('own')), never))).to.have.property(
        'message',
        'own',
      );
    });

    it('rejects at its deadline, and passes on a later result', async () => {
      const one = deadline({ timeoutMs: 100 });
      let finish = (_value: number): void => undefined;
      const late: number[] = [];
      const limited = rejection(
        one.limit(
          () => new Promise<number>((resolve) => (finish = resolve)),
          (value) => late.push(value),
        ),
      );
      client.clock.advance(100);
      expect((await limited).code).to.equal('ERR_LOCK_TIMEOUT');
      finish(7);
      await Promise.resolve();
      expect(late).to.deep.equal([7]);
    });

    it('does not start a call after its end', async () => {
      const controller = new AbortController();
      controller.abort(new Error('enough'));
      let hasBegun = false;
      const limited = deadline({ signal: controller.signal }).limit(() => Promise.resolve((hasBegun = true)), never);
      expect((await rejection(limited)).message).to.equal('enough');
      expect(hasBegun).to.equal(false);
    });
  });
});
