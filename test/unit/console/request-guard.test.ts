import { expect } from 'chai';
import { hostname } from 'node:os';
import { refusalOf, type GuardedRequest } from '../../../packages/zklock/src/console/request-guard.ts';

const request: GuardedRequest = {
  host: '127.0.0.1:8080',
  origin: undefined,
  fetchSite: undefined,
  isPage: false,
  localAddress: '127.0.0.1',
};
const isAllowed = (changes: Partial<GuardedRequest>, listenHost = '127.0.0.1'): boolean =>
  refusalOf({ ...request, ...changes }, listenHost) === undefined;

describe('the guard of the web console', () => {
  for (const host of ['127.0.0.1:8080', '127.0.0.1', 'localhost:8080', 'LOCALHOST:9000'])
    it(`allows the host ${host} on the loopback address`, () => expect(isAllowed({ host })).to.equal(true));

  for (const host of [
    undefined,
    '',
    'evil.example',
    'localhost.evil.example:8080',
    '10.0.0.1',
    '127.0.0.2',
    'a@localhost',
    '[::1',
    hostname(),
  ])
    it(`refuses the host ${host ?? '(none)'} on the loopback address`, () =>
      expect(isAllowed({ host })).to.equal(false));

  it('allows IPv6 in brackets, and an address that is mapped into it', () => {
    expect(isAllowed({ host: '[::1]:8080', localAddress: '::1' }, '::1')).to.equal(true);
    expect(isAllowed({ host: '127.0.0.1:8080', localAddress: '::ffff:127.0.0.1' }, '::')).to.equal(true);
  });

  it('allows the name and the address that it listens on, and the name of the machine, on the network', () => {
    const onNetwork = (host: string, listenHost: string): boolean =>
      isAllowed({ host, localAddress: '10.0.0.7' }, listenHost);
    expect(onNetwork('locks.example:8080', 'locks.example')).to.equal(true);
    expect(onNetwork('10.0.0.7:8080', '0.0.0.0')).to.equal(true);
    expect(onNetwork(hostname(), '0.0.0.0')).to.equal(true);
    expect(onNetwork('0.0.0.0:8080', '0.0.0.0')).to.equal(false);
    expect(onNetwork('evil.example', '0.0.0.0')).to.equal(false);
    expect(onNetwork('localhost', '0.0.0.0')).to.equal(false);
  });

  it('refuses requests of other sites, except that a link may open the page', () => {
    expect(isAllowed({ origin: 'http://127.0.0.1:8080' })).to.equal(true);
    expect(isAllowed({ origin: 'http://127.0.0.1:9999' })).to.equal(false);
    expect(isAllowed({ origin: 'null' })).to.equal(false);
    expect(isAllowed({ fetchSite: 'same-origin' })).to.equal(true);
    expect(isAllowed({ fetchSite: 'none' })).to.equal(true);
    expect(isAllowed({ fetchSite: 'cross-site' })).to.equal(false);
    expect(isAllowed({ fetchSite: 'same-site' })).to.equal(false);
    expect(isAllowed({ fetchSite: 'cross-site', isPage: true })).to.equal(true);
  });
});
