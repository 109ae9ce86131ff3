import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { sharedZooKeeper } from '../../lab/hooks.ts';
import { run } from './support/command.ts';
import { Consumer } from './support/consumer.ts';
import { prints } from './support/prints.ts';
import {
  embeddedByImport,
  embeddedByRequire,
  importAndRequire,
  instrumentLock,
  listen,
  lockByImport,
  lockByRequire,
  loginByKerberos,
  namesOfClasses,
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

  it('sees each class by its name, as error texts and loggers do', async () => {
    consumer.write('names.cjs', namesOfClasses);
    await nodePrints('classes, and [] with another name', 'names.cjs');
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

  it('instruments its locks with the package for OpenTelemetry, which brings @opentelemetry/api', async function () {
    this.timeout(300_000); // an installation
    using instrumented = await Consumer.install(tarball('@zookeeper-fair-lock/opentelemetry'));
    instrumented.write('instrumented.mts', instrumentLock);
    await instrumented.compile(['instrumented.mts'], { module: 'nodenext' });
    await prints('stopped', process.execPath, ['instrumented.mjs'], { folder: instrumented.folder, servers });
  });

  it('tests its own code with a ZooKeeper in its process, by import and by require', async function () {
    this.timeout(300_000); // an installation
    await consumer.add(tarball('@zookeeper-fair-lock/testing'));
    consumer.write('embedded.mjs', embeddedByImport);
    consumer.write('embedded.cjs', embeddedByRequire);
    for (const file of ['embedded.mjs', 'embedded.cjs']) await nodePrints('locked', file);
  });

  it('authenticates by Kerberos with the package for it, which asks for the package kerberos', async function () {
    this.timeout(300_000); // an installation
    await consumer.add(tarball('@zookeeper-fair-lock/kerberos'));
    consumer.write('kerberos.mjs', loginByKerberos);
    await nodePrints('refused', 'kerberos.mjs');
  });

  it('runs npx zklock, without the lock or any other package', async function () {
    this.timeout(300_000); // an installation
    const folder = consumer.pathOf('shell');
    consumer.write('shell/package.json', JSON.stringify({ private: true }));
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', tarball('zklock')], folder, 280_000);
    expect(readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.'))).to.deep.equal(['zklock']);
    const line = 'npx --no-install zklock run --servers "$0" "$1" -- echo it runs';
    await prints('it runs', '/bin/sh', ['-c', line], { folder, servers });
  });

  it('has the manual page of zklock if it is installed globally', async function () {
    this.timeout(300_000); // an installation
    const prefix = consumer.pathOf('global');
    const how = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
    await run('npm', ['install', '--global', '--prefix', prefix, ...how, tarball('zklock')], consumer.folder, 280_000);
    expect(readFileSync(join(prefix, 'share/man/man1/zklock.1'), 'utf8')).to.contain('.TH ZKLOCK 1');
  });

  function nodePrints(line: string, file: string): Promise<void> {
    return prints(line, process.execPath, [file], { folder: consumer.folder, servers });
  }
});
