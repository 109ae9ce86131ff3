import { expect } from 'chai';
import { RefusingServers } from '../../src/zookeeper/refusing-servers.ts';

describe('a server that refuses the account', () => {
  const dial = (servers: RefusingServers, addresses: Readonly<Record<string, number>>): void => {
    servers.dial('zk:2181');
    for (const [address, family] of Object.entries(addresses)) servers.found(address, family);
  };
  const three = { '10.0.0.1': 4, '10.0.0.2': 4, '10.0.0.3': 4 };

  it('is one of those that its name stands for: all of them must refuse', () => {
    const servers = new RefusingServers();
    const answers = Object.keys(three).map((address) => {
      dial(servers, three);
      servers.refused(address);
      return servers.haveAllRefused('zk:2181');
    });
    expect(answers).to.deep.equal([false, false, true]);
  });

  it('is all of them if its host was not looked up', () => {
    const servers = new RefusingServers();
    dial(servers, {});
    servers.refused('10.0.0.1');
    expect(servers.haveAllRefused('zk:2181')).to.equal(true);
  });

  it('need not refuse on an address of a family that this machine cannot reach', () => {
    const servers = new RefusingServers();
    dial(servers, { '::1': 6, '127.0.0.1': 4 });
    servers.refused('127.0.0.1');
    expect(servers.haveAllRefused('zk:2181')).to.equal(true);
  });

  it('no longer counts when its name stands for others', () => {
    const servers = new RefusingServers();
    dial(servers, { '10.0.0.1': 4 });
    servers.refused('10.0.0.1');
    dial(servers, { '10.0.0.9': 4 });
    expect(servers.haveAllRefused('zk:2181')).to.equal(false);
  });

  it('no longer counts when a server has accepted the account', () => {
    const servers = new RefusingServers();
    dial(servers, three);
    for (const address of Object.keys(three)) servers.refused(address);
    servers.clear();
    expect(servers.haveAllRefused('zk:2181')).to.equal(false);
  });
});
