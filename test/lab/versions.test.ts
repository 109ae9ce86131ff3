import { expect } from 'chai';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureServerJars } from '../../lab/servers/server-jars.ts';
import { chosenVersion, newestVersion, serverVersions } from '../../lab/servers/versions.ts';
import { rejection } from '../../lab/until.ts';

describe('ZOOKEEPER_VERSION', () => {
  it('chooses a server of the table, or another one of Maven', () => {
    expect(chosenVersion({ ZOOKEEPER_VERSION: newestVersion })).to.include({ version: newestVersion, from: 'maven' });
    expect(chosenVersion({ ZOOKEEPER_VERSION: '3.5.0-alpha' }).from).to.equal('maven');
    expect(serverVersions.map(({ version }) => version)).to.include(newestVersion);
  });

  it('is Debian’s package by default', () => {
    expect(chosenVersion({}).from).to.equal('debian');
  });

  for (const value of ['', '3.9', 'latest', '../3.9.5'])
    it(`may not be "${value}"`, () => {
      expect(() => chosenVersion({ ZOOKEEPER_VERSION: value })).to.throw(RangeError, `got ${value}`);
    });

  it('names the version and the missing command on a machine without Maven', async () => {
    const { PATH, XDG_CACHE_HOME } = process.env;
    const empty = mkdtempSync(join(tmpdir(), 'no-maven-'));
    Object.assign(process.env, { PATH: empty, XDG_CACHE_HOME: empty });
    try {
      const error = await rejection(ensureServerJars({ ZOOKEEPER_VERSION: newestVersion }));
      expect(error.message).to.equal(`ZooKeeper ${newestVersion} cannot be had: mvn is not installed`);
    } finally {
      process.env['PATH'] = PATH;
      if (XDG_CACHE_HOME === undefined) delete process.env['XDG_CACHE_HOME'];
      else process.env['XDG_CACHE_HOME'] = XDG_CACHE_HOME;
      rmSync(empty, { recursive: true });
    }
  });
});
