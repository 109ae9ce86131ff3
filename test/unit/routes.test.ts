import { expect } from 'chai';
import { HostNames, type Address } from '../../src/zookeeper/network/host-names.ts';
import { Routes, type Route } from '../../src/zookeeper/network/routes.ts';
import { ManualClock } from '../../lab/manual-clock.ts';

const addresses: readonly Address[] = [{ address: '10.0.0.1', family: 4 }];
const turn = (): Promise<void> => new Promise(setImmediate);

describe('the route to a host', () => {
  let clock: ManualClock;
  let answer: (result: readonly Address[] | Error) => Promise<void>;
  let begun: number;
  let routes: Routes;
  let found: (Route | 'answered')[];

  const find = (host = 'zk'): void => routes.find(host, (route) => found.push(route));

  beforeEach(() => {
    clock = new ManualClock();
    begun = 0;
    found = [];
    const lookup = (): Promise<readonly Address[]> => {
      begun += 1;
      return new Promise((resolve, reject) => {
        answer = (result) => {
          if (result instanceof Error) reject(result);
          else resolve(result);
          return turn();
        };
      });
    };
    routes = new Routes(new HostNames({ lookup, probe: () => () => {} }, clock), clock);
  });

  it('has the addresses of the lookup, which is made for each attempt', async () => {
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      find();
      expect(found).to.have.length(attempt - 1);
      await answer(addresses);
      expect(found.at(-1)).to.deep.equal({ is: 'found', addresses });
    }
    expect(begun).to.equal(2);
    expect(clock.timers).to.equal(0);
  });

  it('needs no lookup for an IP address, or in a network without names', () => {
    find('10.0.0.1');
    find('::1');
    new Routes(undefined, clock).find('zk', (route) => found.push(route));
    expect(found).to.deep.equal(Array(3).fill({ is: 'found', addresses: [] }));
    expect(begun).to.equal(0);
  });

  it('is pending after 250 ms, then at once, and an answer meanwhile serves the next attempt', async () => {
    find();
    clock.advance(249);
    expect(found).to.deep.equal([]);
    clock.advance(1);
    find();
    expect(found).to.deep.equal([{ is: 'pending' }, { is: 'pending' }]);
    await answer(addresses);
    expect(found).to.have.length(2);
    find();
    expect(found.at(-1)).to.deep.equal({ is: 'found', addresses });
    expect(begun).to.equal(1);
  });

  it('leads to the addresses of the last success while a lookup is late', async () => {
    find();
    await answer(addresses);
    find();
    clock.advance(250);
    find();
    expect(found).to.deep.equal(Array(3).fill({ is: 'found', addresses }));
    expect(begun).to.equal(2);
  });

  it('has the error of the lookup', async () => {
    find();
    const error = new Error('getaddrinfo ENOTFOUND zk');
    await answer(error);
    expect(found).to.deep.equal([{ is: 'failed', error }]);
  });

  it('is told when a pending lookup is answered, now or before', async () => {
    const tellAnswered = (): (() => void) => routes.whenAnswered(() => found.push('answered'));
    find();
    clock.advance(250);
    tellAnswered();
    const cancel = tellAnswered();
    cancel();
    await answer(addresses);
    expect(found).to.deep.equal([{ is: 'pending' }]);
    tellAnswered();
    expect(found).to.have.length(1);
    clock.advance(1);
    expect(found).to.deep.equal([{ is: 'pending' }, 'answered']);
    find();
    find();
    clock.advance(250);
    tellAnswered();
    await answer(addresses);
    expect(found.slice(2)).to.deep.equal([{ is: 'found', addresses }, { is: 'found', addresses }, 'answered']);
  });

  it('is not told, and keeps no timer, after `forget`', async () => {
    find();
    routes.forget();
    expect(clock.timers).to.equal(1); // The lookup cannot be cancelled.
    await answer(addresses);
    expect(clock.timers).to.equal(0);
    expect(found).to.deep.equal([]);
    find();
    expect(begun).to.equal(2);
  });
});
