import { expect } from 'chai';
import { ServerTraits, type SentRequest } from '../../src/zookeeper/connection/server-traits.ts';

const server = '127.0.0.1:2181';
const requests = (...names: string[]): SentRequest[] => names.map((name) => ({ name, bytes: 0 }));

describe('the traits of servers', () => {
  let traits: ServerTraits;
  const end = (...operations: string[]): string | undefined =>
    traits.endedAt(requests(...operations), server)?.why.operation;

  beforeEach(() => {
    traits = new ServerTraits(() => 0);
    for (const known of ['create2', 'multi', 'getChildren2', 'sync']) traits.answered(known, 0);
  });

  it('blame the operation that never had an answer, also if others were on their way beside it', () => {
    expect(end('sync')).to.equal(undefined);
    expect(end()).to.equal(undefined);
    expect(end('getChildren2', 'sync')).to.equal(undefined);
    traits.answered('multi', 0);
    expect(end('sync', 'exists')).to.equal('sync');
  });

  it('blame what was in flight at two ends in a row, and not a kind that is new at the second one', () => {
    expect(end('create2', 'sync')).to.equal(undefined);
    expect(end('getChildren2', 'sync')).to.equal(undefined);
    expect(end('sync', 'exists')).to.equal(undefined);
    expect(end('sync', 'exists')).to.equal('sync');
  });

  it('blame no known request beside a transaction, because the network may have ended the connections', () => {
    traits.answered('getData', 0);
    expect(end('sync', 'getData')).to.equal(undefined);
    for (const _ of [1, 2, 3, 4, 5]) expect(end('getData', 'multi')).to.equal(undefined);
  });

  it('count an end half if an older transaction has no answer either, unless the suspect is a long request', () => {
    const longOne = [...requests('multi'), { name: 'create2', bytes: 2e6 }];
    for (const _ of [1, 2]) expect(traits.endedAt(longOne, server)).to.equal(undefined);
    expect(traits.endedAt(longOne, server)?.why.bytes).to.equal(2e6);
    for (const _ of [1, 2, 3, 4]) expect(end('multi', 'createContainer')).to.equal(undefined);
    expect(end('createContainer', 'multi')).to.equal('createContainer');
    expect(end('multi', 'createContainer')).to.equal('createContainer');
  });

  it('send no request of the length that ends connections, until one of that length is answered', () => {
    const isSent = (bytes: number): boolean => traits.whyNotToSend('create2', bytes, server) === undefined;
    for (const _ of [1, 2, 3]) traits.endedAt([{ name: 'create2', bytes: 2e6 }], server);
    expect([isSent(1e6), isSent(2e6)]).to.deep.equal([true, false]);
    traits.answered('create2', 1.9e6);
    expect(isSent(2e6)).to.equal(false);
    traits.answered('create2', 2e6);
    expect(isSent(2e6)).to.equal(true);
  });

  it('blame no long request for the end after one of its length was answered', () => {
    const longOne = [{ name: 'create2', bytes: 2e6 }];
    for (const _ of [1, 2]) traits.endedAt(longOne, server);
    traits.answered('create2', 2e6);
    for (const _ of [1, 2]) expect(traits.endedAt(longOne, server)).to.equal(undefined);
  });

  it('blame nothing for the ends of servers that may have broken down one after another, but for six of them', () => {
    const endAt = (name: string): string | undefined => traits.endedAt(requests('sync'), name)?.why.operation;
    for (const name of ['a', 'b', 'c', 'd', 'e']) expect(endAt(name), name).to.equal(undefined);
    expect(endAt('f')).to.equal('sync');
    traits.answered('sync', 0);
    for (const name of ['a', 'b', 'c']) expect(endAt(name), name).to.equal(undefined);
    expect(endAt('a')).to.equal('sync');
  });

  it('count an end half if the servers had ended the session, and an earlier end as before', () => {
    const expired = (): void => traits.sessionExpired();
    expect(end('createContainer')).to.equal(undefined);
    expect(end('createContainer')).to.equal(undefined);
    for (const _ of [1, 2]) expired();
    expect(end('createContainer')).to.equal(undefined);
    expect(end('createContainer')).to.equal('createContainer');
    traits.answered('createContainer', 0);
    for (const _ of [1, 2, 3, 4]) {
      expect(end('getData')).to.equal(undefined);
      expired();
    }
    expect(end('getData')).to.equal('getData');
  });

  it('count an end half if another server gives no session after it, because all may be without a leader', () => {
    expect(end('createContainer')).to.equal(undefined);
    for (const _ of [1, 2]) traits.gaveNoSession('other');
    for (const _ of [1, 2]) expect(end('createContainer')).to.equal(undefined);
    expect(end('createContainer')).to.equal('createContainer');
    expect(end('createContainer')).to.equal('createContainer');
  });

  it('count half less for an end between at which only others were in flight, also after the request was blamed', () => {
    for (const _ of [1, 2]) expect(end('createContainer')).to.equal(undefined);
    const others = (): string | undefined => end('getChildren2', 'create2');
    expect(others()).to.equal(undefined);
    expect(end('createContainer')).to.equal(undefined);
    expect(others()).to.equal(undefined);
    expect(end('createContainer')).to.equal('createContainer');
    expect(others()).to.equal(undefined);
    expect(end('createContainer')).to.equal('createContainer');
  });

  it('take nothing from the evidence for an end at which they suspected no request', () => {
    for (const _ of [1, 2]) end('createContainer');
    expect(end()).to.equal(undefined);
    traits.sessionExpired();
    expect(end('createContainer')).to.equal('createContainer');
  });

  it('blame a request at the third end by three servers that have passed it over', () => {
    const ends = ['a', 'b', 'c'].map((name) => traits.endedAt(requests('exists'), name, 'passed over')?.why.operation);
    expect(ends).to.deep.equal([undefined, undefined, 'exists']);
  });

  it('send a request alone that no server has answered, after two ends, unless a server has passed it over', () => {
    const createContainer = requests('createContainer');
    const isAlone = (): boolean => traits.goesAlone({ name: 'createContainer', kind: 'write' });
    traits.endedAt(createContainer, server, 'passed over');
    traits.endedAt(createContainer, server, 'passed over');
    expect(isAlone()).to.equal(false);
    traits = new ServerTraits(() => 0);
    expect([end('createContainer', 'multi'), isAlone()]).to.deep.equal([undefined, false]);
    expect([end('createContainer', 'multi'), isAlone()]).to.deep.equal([undefined, true]);
  });

  it('send a proof that was answered beside a request alone that was not, and blame the request at the next end', () => {
    const isBeside = (name: string, isProof: boolean): boolean =>
      traits.goesBeside({ name, isProof }, { name: 'setWatches', bytes: 0 });
    for (const _ of [1, 2]) expect(end('setWatches', 'multi')).to.equal(undefined);
    expect([isBeside('multi', true), isBeside('multi', false), isBeside('check', true)]).to.deep.equal([
      true,
      false,
      false,
    ]);
    expect(end('setWatches', 'multi')).to.equal('setWatches');
    traits.answered('setWatches', 0);
    expect(isBeside('multi', true)).to.equal(false);
  });

  it('blame nothing for an earlier end if it was answered since', () => {
    expect(end('create2', 'sync')).to.equal(undefined);
    traits.answered('sync', 0);
    expect(end('getChildren2', 'sync')).to.equal(undefined);
    expect(end('getChildren2')).to.equal(undefined);
    expect(end('getChildren2')).to.equal('getChildren2');
  });

  const kinds = ['create2', 'getChildren2', 'getData', 'delete'] as const;
  const ends: [what: string, first: string[], answered: string[], second: string[], alone: string[]][] = [
    ['both', ['create2', 'getData'], [], ['create2', 'getData'], ['create2', 'getData']],
    ['the one that was there twice', ['create2', 'getData'], [], ['create2', 'delete'], ['create2']],
    ['the one without an answer', ['create2', 'getData'], ['getData'], ['create2', 'getData'], ['create2']],
    ['none if both were answered', ['create2', 'getData'], ['getData', 'create2'], ['create2', 'getData'], []],
    ['none if none was there twice', ['create2', 'getData'], [], ['getChildren2', 'delete'], []],
  ];
  for (const [what, first, answered, second, alone] of ends)
    it(`send alone, after two ends with several requests: ${what}`, () => {
      for (const kind of kinds) traits.answered(kind, 0);
      traits.endedAt(requests(...first), server);
      for (const kind of answered) traits.answered(kind, 0);
      traits.endedAt(requests(...second), server);
      expect(kinds.filter((name) => traits.goesAlone({ name, kind: 'read' }))).to.deep.equal(alone);
      for (const kind of alone) traits.answered(kind, 0);
      expect(traits.isCareful).to.equal(false);
    });
});
