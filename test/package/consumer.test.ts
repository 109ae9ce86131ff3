import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { sharedZooKeeper } from '../../lab/hooks.ts';
import { run } from './support/command.ts';
import { Consumer } from './support/consumer.ts';
import { prints } from './support/prints.ts';
import {
  importAndRequire,
  instrumentLock,
  listen,
  lockByImport,
  lockByRequire,
  twoCopies,
} from './support/programs.ts';
import { tarball } from './support/tarball.ts';

describe(`an application on Node ${process.version}`, function () {
  this.timeout(60_000);
  let consumer: Consumer;
  let servers: string;

  before(async function () {
    this.timeout(300_000); // an installation
    ({ connectString: servers } = await sharedZooKeeper());
    consumer = await Consumer.install();
  });

  after(() => consumer[Symbol.dispose]());

  it('imports the package, locks, closes, and ends by itself', async () => {
    consumer.write('imported.mjs', lockByImport);
    await nodePrints('bigint', 'imported.mjs');
  });

  it('requires the package, locks, closes, and ends by itself', async () => {
    consumer.write('required.cjs', lockByRequire);
    await nodePrints('bigint', 'required.cjs');
  });

  it('gets one copy of the package if one process imports and requires it', async () => {
    consumer.write('both.mjs', importAndRequire);
    await nodePrints('isReentrant: true, different: ', 'both.mjs');
  });

  it('is told which object comes from another copy of the package, and the copies exclude each other', async () => {
    const plugin = 'plugin/node_modules/zookeeper-fair-lock';
    cpSync(consumer.pathOf('node_modules/zookeeper-fair-lock'), consumer.pathOf(plugin), { recursive: true });
    consumer.write('plugin/index.cjs', "module.exports = require('zookeeper-fair-lock');");
    consumer.write('copies.cjs', twoCopies);
    await nodePrints('excluded, refused 6 of 6, reloaded', 'copies.cjs');
  });

  it('calls listeners that do not own the lock', async () => {
    consumer.write('listen.mjs', listen);
    await nodePrints('[false,false]', 'listen.mjs');
  });

  it('is compiled from TypeScript, locks, closes, and ends by itself', async () => {
    consumer.write('typed.mts', lockByImport);
    await consumer.compile(['typed.mts'], { module: 'nodenext' });
    await nodePrints('bigint', 'typed.mjs');
  });

  it('instruments its locks if it has @opentelemetry/api', async function () {
    this.timeout(300_000); // an installation
    using instrumented = await Consumer.install('@opentelemetry/api@1.9.0');
    instrumented.write('instrumented.mts', instrumentLock);
    await instrumented.compile(['instrumented.mts'], { module: 'nodenext' });
    await prints('stopped', process.execPath, ['instrumented.mjs'], { folder: instrumented.folder, servers });
  });

  it('has the command zklock, also by the name of the package', async () => {
    for (const name of ['zklock', 'zookeeper-fair-lock']) {
      const command = consumer.pathOf(`node_modules/.bin/${name}`);
      const line = '"$0" run --servers "$1" "$2" -- echo it runs';
      await prints('it runs', '/bin/sh', ['-c', line, command], { folder: consumer.folder, servers });
    }
  });

  it('has the manual page of zklock if it is installed globally', async function () {
    this.timeout(300_000); // an installation
    const prefix = consumer.pathOf('global');
    const how = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
    await run('npm', ['install', '--global', '--prefix', prefix, ...how, tarball()], consumer.folder, 280_000);
    expect(readFileSync(join(prefix, 'share/man/man1/zklock.1'), 'utf8')).to.contain('.TH ZKLOCK 1');
  });

  it('loads nothing of the command line by import or require', async () => {
    const look = `Object.keys(require.cache).filter((file) => /zookeeper-fair-lock.(?:bin|dist.(?:zklock|cli|console|board)\\b)/.test(file))`;
    consumer.write('loaded.cjs', `require('zookeeper-fair-lock'); console.log(JSON.stringify(${look}));`);
    await nodePrints('[]', 'loaded.cjs');
  });

  function nodePrints(line: string, file: string): Promise<void> {
    return prints(line, process.execPath, [file], { folder: consumer.folder, servers });
  }
});
