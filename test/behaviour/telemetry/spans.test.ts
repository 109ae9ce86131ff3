import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { hrTimeToMilliseconds } from '@opentelemetry/core';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { expect } from 'chai';
import { lockContext } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { Telemetry } from '../../../lab/programs/open-telemetry.ts';
import { queueReaches, takeAway } from '../../../lab/queue.ts';
import { Recording } from '../../../lab/traced.ts';
import { rejection } from '../../../lab/until.ts';
import { codeMs } from '../../../lab/world.ts';

describe('the spans of OpenTelemetry', () => {
  const lab = labOfEachTest('spans');
  let telemetry: Telemetry;

  beforeEach(async () => (telemetry = await Telemetry.start({ lockName: () => 'stock' })));
  afterEach(() => telemetry[Symbol.asyncDispose]());

  const named = (name: string): ReadableSpan[] => telemetry.spans.filter((span) => span.name === name);
  const durationMs = ({ duration }: ReadableSpan): number => hrTimeToMilliseconds(duration);

  it('of an acquire and a hold are children of the caller’s span, also behind a wait and inside lock contexts', async () => {
    const first = await lab.theirs.acquire();
    const waiting = telemetry.inSpan('request', () =>
      lockContext.run(() => lab.client.withLock(`${lab.path}-other`, () => lab.mutex.withLock(() => undefined))),
    );
    await queueReaches(lab.theirs, 2);
    await first.release();
    await waiting;
    const [request] = named('request');
    const children = telemetry.spans.filter(
      ({ parentSpanContext }) => parentSpanContext?.spanId === request?.spanContext().spanId,
    );
    expect(children.map(({ name }) => name).sort()).to.deep.equal([
      'zookeeper.lock.acquire',
      'zookeeper.lock.acquire',
      'zookeeper.lock.hold',
      'zookeeper.lock.hold',
    ]);
    const traceIds = new Set([request, ...children].map((span) => span?.spanContext().traceId));
    expect(traceIds.size).to.equal(1);
  });

  it('leave nothing of the caller’s context on a message that has ended', async () => {
    using recording = new Recording();
    await telemetry.inSpan('request', () => lab.mutex.withLock(() => undefined));
    const { acquire, hold } = recording.messages;
    const notes = [...acquire, ...hold].flatMap((message) =>
      Object.getOwnPropertySymbols(message).map((note): unknown => Reflect.get(message, note)),
    );
    expect(notes).to.deep.equal([undefined, undefined, undefined, undefined]);
  });

  it('last as long as what they are about, and say what it was', async () => {
    const first = await lab.theirs.acquire();
    const calledAt = lab.now();
    const waiting = lab.mutex.acquire().then((hold) => ({ hold, grantedAt: lab.now() }));
    // By the waiter's own connection, which answers in order: the waiter knows its position.
    await queueReaches(lab.mutex, 2);
    await first.release();
    const { hold, grantedAt } = await waiting;
    const waitedMs = grantedAt - calledAt;
    await lab.sleep(10);
    const heldMs = lab.now() - grantedAt;
    await hold.release();
    const [, acquire] = named('zookeeper.lock.acquire');
    const [, held] = named('zookeeper.lock.hold');
    if (!acquire || !held) throw new Error('no spans');
    // The clock of a span is rounded.
    expect(durationMs(acquire)).to.be.closeTo(waitedMs, 1 + codeMs);
    expect(durationMs(held)).to.be.closeTo(heldMs, 1 + codeMs);
    const common = {
      'zookeeper.lock.name': 'stock',
      'zookeeper.lock.kind': 'mutex',
      'zookeeper.lock.path': lab.path,
      'zookeeper.lock.mode': 'acquire',
      'zookeeper.lock.fencing_token': String(hold.fencingToken),
      'zookeeper.lock.position': 1,
    };
    expect(acquire.attributes).to.deep.equal({ ...common, outcome: 'acquired' });
    expect(held.attributes).to.deep.equal({ ...common, outcome: 'released' });
    expect([acquire.kind, held.kind]).to.deep.equal([SpanKind.CLIENT, SpanKind.INTERNAL]);
    const [wait, ...others] = held.events;
    expect(others).to.deep.equal([]);
    expect(wait?.name).to.equal('zookeeper.lock.wait');
    expect(wait?.attributes?.['zookeeper.lock.position']).to.equal(1);
    expect(Number(wait?.attributes?.['zookeeper.lock.wait.duration']) * 1_000).to.be.closeTo(waitedMs, codeMs);
    expect(held.status.code).to.equal(SpanStatusCode.UNSET);
  });

  it('of a hold that is lost have the loss as an event, and are errors', async () => {
    const hold = await lab.mutex.acquire();
    await takeAway(hold, lab.observer);
    await hold.release();
    const [held] = named('zookeeper.lock.hold');
    expect(held?.events.map(({ name }) => name)).to.deep.equal(['zookeeper.lock.wait', 'zookeeper.lock.loss']);
    expect(held?.events[1]?.attributes).to.deep.equal({ reason: 'node-deleted' });
    expect(held?.attributes['error.type']).to.equal('node-deleted');
    expect(held?.status.code).to.equal(SpanStatusCode.ERROR);
  });

  it('of an acquire that times out are errors, but not those of a try', async () => {
    const hold = await lab.theirs.acquire();
    const late = await rejection(lab.mutex.acquire({ timeoutMs: 1_000 }));
    await lab.mutex.tryAcquire();
    await rejection(lab.mutex.acquire({ signal: AbortSignal.abort() }));
    await hold.release();
    const [, timedOut, tried, aborted] = named('zookeeper.lock.acquire');
    expect(timedOut?.status).to.deep.equal({ code: SpanStatusCode.ERROR, message: late.message });
    expect(timedOut?.attributes['error.type']).to.equal('contention');
    expect([tried?.status.code, aborted?.status.code]).to.deep.equal([SpanStatusCode.UNSET, SpanStatusCode.UNSET]);
    expect([tried?.attributes['outcome'], aborted?.attributes['outcome']]).to.deep.equal(['timed-out', 'aborted']);
  });

  it('are not made for what was re-entered, except for its transactions', async () => {
    await lab.mutex.withLock(() => lab.mutex.withLock((hold) => hold.transaction().commit()));
    expect(telemetry.spans.map(({ name }) => name)).to.deep.equal(
      ['acquire', 'transaction', 'hold'].map((name) => `zookeeper.lock.${name}`),
    );
  });

  it('of a transaction say how it ended', async () => {
    let error: Error | undefined;
    await telemetry.inSpan('request', () =>
      lab.mutex.withLock(async (hold) => {
        await hold.transaction().commit();
        error = await rejection(hold.transaction().check(hold.path, { version: 1 }).commit());
      }),
    );
    const [request] = named('request');
    const [committed, refused] = named('zookeeper.lock.transaction');
    expect(committed?.parentSpanContext?.spanId).to.equal(request?.spanContext().spanId);
    expect(committed?.status.code).to.equal(SpanStatusCode.UNSET);
    expect(refused?.status).to.deep.equal({ code: SpanStatusCode.ERROR, message: error?.message });
    expect(refused?.attributes['error.type']).to.equal('ERR_LOCK_REQUEST_FAILED');
  });
});
