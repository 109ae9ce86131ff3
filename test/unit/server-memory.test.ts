import { expect } from 'chai';
import fc from 'fast-check';
import { ServerMemory } from '../../src/zookeeper/network/server-memory.ts';

const name = 'zk:2181';
const of = (text: string) => Array.from(text, (address) => ({ address, family: 4 }));

describe('the order in which the addresses of a server are dialled', () => {
  it('begins with the one that worked last, and ends with those that failed since, the latest at the end', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 0.999, noNaN: true }), (random) => {
        const memory = new ServerMemory();
        const order = (): string => memory.inOrder(name, of('abcd'), () => random).join('');
        memory.granted(name, 'c', 5);
        expect(order()[0]).to.equal('c');
        memory.failed(name, 'c');
        memory.failed(name, 'a');
        expect(order()).to.match(/^(bd|db)ca$/);
        memory.failed(name, 'c');
        expect(order()).to.match(/^(bd|db)ac$/);
        memory.granted(name, 'a', 5);
        expect(order()).to.match(/^a.*c/);
      }),
    );
  });

  it('is random for a server that has granted no session yet', () => {
    const orders = [0, 0.4, 0.9].map((random) => new ServerMemory().inOrder(name, of('abc'), () => random).join(''));
    expect(new Set(orders).size).to.equal(3);
  });

  it('has eight addresses at most', () => {
    expect(new ServerMemory().inOrder(name, of('abcdefghijkl'), Math.random)).to.have.length(8);
  });
});

describe('the time to a session', () => {
  it('is the longest of the last times of these servers, and 0 if none has granted one', () => {
    const memory = new ServerMemory();
    expect(memory.longestMs(['a:1', 'b:1'])).to.equal(0);
    memory.granted('a:1', undefined, 300);
    memory.granted('b:1', undefined, 600);
    memory.granted('c:1', undefined, 900);
    memory.granted('b:1', undefined, 200);
    memory.failed('a:1', '10.0.0.1');
    expect(memory.longestMs(['a:1', 'b:1'])).to.equal(300);
  });

  it('is remembered for the last thousand servers', () => {
    const memory = new ServerMemory();
    for (let port = 0; port <= 1_000; port += 1) memory.granted(`zk:${port}`, undefined, 7);
    expect(['zk:0', 'zk:1'].map((each) => memory.longestMs([each]))).to.deep.equal([0, 7]);
  });
});
