import { expect } from 'chai';
import { syncBuiltinESMExports } from 'node:module';
import os, { type NetworkInterfaceInfo } from 'node:os';
import type { LockHost } from '../../src/client/lock-host.ts';
import { DefaultData, localAddress, ownerData, ownerIn, thisOwner } from '../../src/internals/znode/znode-data.ts';
import { Companions } from '../../src/support/companions.ts';

describe('the address that a lock writes into its znode', () => {
  const { networkInterfaces, hostname } = os;
  const localAddressBefore = localAddress();

  afterEach(() => {
    Object.assign(os, { networkInterfaces, hostname });
    syncBuiltinESMExports();
  });

  const on = (...addresses: [address: string, family: 'IPv4' | 'IPv6', where: 'internal' | 'external'][]): string => {
    os.networkInterfaces = () => ({
      gone: undefined,
      eth0: addresses.map(
        ([address, family, where]) => ({ address, family, internal: where === 'internal' }) as NetworkInterfaceInfo,
      ),
    });
    syncBuiltinESMExports();
    return localAddress();
  };

  it('is the first IPv4 address that other machines can reach', () => {
    expect(
      on(['127.0.0.1', 'IPv4', 'internal'], ['fe80::1', 'IPv6', 'external'], ['10.0.0.7', 'IPv4', 'external']),
    ).to.equal('10.0.0.7');
  });

  it('is an IPv6 address if there is no other', () => {
    expect(
      on(['127.0.0.1', 'IPv4', 'internal'], ['::1', 'IPv6', 'internal'], ['2001:db8::1', 'IPv6', 'external']),
    ).to.equal('2001:db8::1');
  });

  it('is 127.0.0.1 if no other machine can reach this one', () => {
    expect(on(['::1', 'IPv6', 'internal'])).to.equal('127.0.0.1');
    expect(on()).to.equal('127.0.0.1');
  });

  it('fails no lock on a host that refuses the system calls', () => {
    const refuse = (): never => {
      throw new Error('uv_interface_addresses returned Unknown system error 13');
    };
    Object.assign(os, { networkInterfaces: refuse, hostname: refuse });
    syncBuiltinESMExports();
    expect([localAddress(), thisOwner('0x1').host]).to.deep.equal(['127.0.0.1', 'localhost']);
    expect(ownerIn(ownerData(), '0x1')).to.deep.equal(thisOwner('0x1'));
  });

  it('is read once for each client, because the system calls take longer than a lock object does', () => {
    let reads = 0;
    os.networkInterfaces = () => {
      reads += 1;
      return networkInterfaces();
    };
    syncBuiltinESMExports();
    const host = Object.create(null) as LockHost;
    Object.assign(host, { companions: new Companions(host) });
    const [first, second] = [DefaultData.of(host), DefaultData.of(host)];
    expect([reads, first.toString(), second]).to.deep.equal([1, localAddressBefore, first]);
  });
});
