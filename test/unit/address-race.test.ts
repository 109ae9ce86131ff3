import { expect } from 'chai';
import { AddressRace } from '../../src/zookeeper/network/address-race.ts';
import { FakeLink } from '../../lab/wire/fake-link.ts';
import { ManualClock } from '../../lab/manual-clock.ts';

describe('a race of several addresses', () => {
  let clock: ManualClock;
  let links: Map<string, FakeLink>;
  let events: string[];

  const race = (addresses: string, isSecure = false): AddressRace => {
    const begun = new AddressRace({
      addresses: Array.from(addresses),
      dial: (address) => {
        const link = new FakeLink();
        links.set(address, link);
        return link;
      },
      isSecure,
      headStartMs: 200,
      clock,
    });
    for (const event of ['connect', 'secureConnect', 'drain', 'close']) begun.on(event, () => events.push(event));
    begun.on('data', (chunk: Buffer) => events.push(chunk.toString()));
    return begun;
  };
  const link = (address: string): FakeLink => {
    const found = links.get(address);
    if (!found) throw new Error(`${address} was not dialled`);
    return found;
  };
  const fail = (address: string, code: string): Promise<void> => {
    link(address).destroy(Object.assign(new Error(`${code} ${address}`), { code }));
    return new Promise(setImmediate);
  };
  const open = (): string[] => [...links].filter(([, { destroyed }]) => !destroyed).map(([address]) => address);

  beforeEach(() => {
    clock = new ManualClock();
    links = new Map();
    events = [];
  });

  it('dials the next one after the head start, and gives none up', () => {
    race('abc');
    expect([...links.keys()]).to.deep.equal(['a']);
    clock.advance(199);
    expect([...links.keys()]).to.deep.equal(['a']);
    clock.advance(1);
    expect([...links.keys()]).to.deep.equal(['a', 'b']);
    clock.advance(60_000);
    expect(open()).to.deep.equal(['a', 'b', 'c']);
    expect(events).to.deep.equal([]);
    expect(clock.timers).to.equal(0);
  });

  it('dials the next one at once if one fails, which then has its own head start', async () => {
    race('abc');
    clock.advance(100);
    await fail('a', 'ECONNREFUSED');
    expect(open()).to.deep.equal(['b']);
    clock.advance(199);
    expect(open()).to.deep.equal(['b']);
    clock.advance(1);
    expect(open()).to.deep.equal(['b', 'c']);
  });

  it('is won by the first that connects: the others end, and no further one is dialled', async () => {
    const won = race('abc');
    clock.advance(200);
    Object.assign(link('a'), { remoteAddress: 'a' });
    link('a').emit('connect');
    await new Promise(setImmediate);
    clock.advance(1_000);
    link('b').emit('connect');
    expect([...links.keys()]).to.deep.equal(['a', 'b']);
    expect(open()).to.deep.equal(['a']);
    expect(won.remoteAddress).to.equal('a');
    won.write(Buffer.from('question'));
    link('a').emit('data', Buffer.from('answer'));
    link('a').emit('drain');
    const errors: unknown[] = [];
    won.on('error', (error) => errors.push(error));
    const alert = new Error('a certificate is required');
    link('a').emit('error', alert);
    expect(errors).to.deep.equal([alert]);
    expect(String(link('a').written[0])).to.equal('question');
    const why = new Error('enough');
    won.destroy(why);
    await new Promise(setImmediate);
    expect([won.destroyed, won.errored]).to.deep.equal([true, why]);
    expect(events).to.deep.equal(['connect', 'answer', 'drain', 'close']);
  });

  it('over TLS is won by the first whose handshake is over', () => {
    race('ab', true);
    link('a').emit('connect');
    clock.advance(200);
    link('b').emit('connect');
    link('b').emit('secureConnect');
    expect(open()).to.deep.equal(['b']);
    expect(events).to.deep.equal(['secureConnect']);
  });

  it('ends when all have failed, with the errors of those that were reached first', async () => {
    const lost = race('abc', true);
    await fail('a', 'ECONNREFUSED');
    link('b').emit('connect');
    await fail('b', 'CERT_HAS_EXPIRED');
    expect(lost.destroyed).to.equal(false);
    await fail('c', 'ENETUNREACH');
    expect(lost.destroyed).to.equal(true);
    expect(lost.errored).to.be.instanceOf(AggregateError).and.have.property('code', 'CERT_HAS_EXPIRED');
    expect((lost.errored as AggregateError).errors.map(String)).to.deep.equal([
      'Error: CERT_HAS_EXPIRED b',
      'Error: ECONNREFUSED a',
      'Error: ENETUNREACH c',
    ]);
    expect(events).to.deep.equal(['close']);
  });

  it('ends without an error if no server gave one, and with the only error as it is', async () => {
    const silent = race('a');
    link('a').destroy();
    await new Promise(setImmediate);
    expect([silent.destroyed, silent.errored]).to.deep.equal([true, null]);
    const refused = race('bc');
    link('b').destroy();
    await new Promise(setImmediate);
    await fail('c', 'ECONNREFUSED');
    expect(refused.errored?.message).to.equal('ECONNREFUSED c');
  });

  it('that is not to keep the process alive tells all of its links', () => {
    const kept: string[] = [];
    const begun = race('abc');
    for (const address of 'ab') {
      Object.assign(link(address), { unref: () => kept.push(address) });
      if (address === 'a') begun.unref();
      clock.advance(200);
    }
    begun.unref();
    expect(kept).to.deep.equal(['a', 'a', 'b']);
  });

  it('that is destroyed ends all of its links, and tells it once, later', async () => {
    const destroyed = race('abc');
    clock.advance(200);
    const why = new Error('the time of the attempt is over');
    destroyed.destroy(why);
    destroyed.destroy(new Error('again'));
    expect(events).to.deep.equal([]);
    expect([destroyed.destroyed, destroyed.errored, open()]).to.deep.equal([true, why, []]);
    link('b').emit('connect');
    await new Promise(setImmediate);
    clock.advance(1_000);
    expect([...links.keys()]).to.deep.equal(['a', 'b']);
    expect(events).to.deep.equal(['close']);
    expect(clock.timers).to.equal(0);
  });
});
