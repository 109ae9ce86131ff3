import { expect } from 'chai';
import { until } from '../../lab/until.ts';
import {
  closeSession,
  createContainer,
  createEphemeral,
  createPersistent,
  createSequential,
  exists,
  getChildren,
  getData,
  openAcl,
  ping,
  remove,
  setData,
  sync,
  type Operation,
} from '../../src/zookeeper/wire/operations.ts';
import { check, checkExists, checkVersion, createInTransaction, multi } from '../../src/zookeeper/wire/transaction.ts';
import { probeOfEachTest } from './probe.ts';

const none = new Uint8Array(0);
const data = Buffer.from('some data');

/** Each request of the library, as a real server answers it and as the library reads the answer. */
describe('a real server', () => {
  const lab = probeOfEachTest({ javaOptions: ['-Dzookeeper.extendedTypesEnabled=true'] });
  const { ask, codeOf } = lab;
  const sessionId = (): bigint => lab.probe.connection.sessionId;

  it('answers the creation of an ephemeral-sequential znode with its path and its Stat', async () => {
    const before = Date.now();
    const { value, zxid } = await lab.probe.send(createSequential(`${lab.path}/x-`, data, openAcl));
    expect(value.path).to.match(new RegExp(`^${lab.path}/x-\\d{10}$`));
    const { createdAtMs, ...stat } = value.stat;
    expect(stat).to.deep.equal({ czxid: zxid, mzxid: zxid, version: 0, ephemeralOwner: sessionId() });
    expect(createdAtMs).to.be.within(before - 1_000, Date.now() + 1_000);
  });

  it('numbers sequential znodes in one ascending sequence, in which deleted znodes keep their numbers', async () => {
    const numbers: number[] = [];
    for (const name of ['a-', 'b-', '']) {
      const { path } = await ask(createSequential(`${lab.path}/${name}`, none, openAcl));
      numbers.push(Number(path.slice(-10)));
      await ask(remove(path));
    }
    expect(numbers).to.deep.equal([0, 1, 2]);
  });

  it('answers the creation of a znode with a given name with its path, and a second one with NODE_EXISTS', async () => {
    for (const create of [
      createEphemeral(`${lab.path}/ephemeral`, data, openAcl),
      createPersistent(`${lab.path}/persistent`, openAcl),
      createContainer(`${lab.path}/container`, openAcl),
    ]) {
      expect(await ask(create)).to.equal(create.path);
      expect(await codeOf(create)).to.equal('NODE_EXISTS');
    }
    expect((await ask(getData(`${lab.path}/ephemeral`, false))).data).to.deep.equal(data);
  });

  it('answers a creation below a missing znode with NO_NODE, and below an ephemeral one with an error', async () => {
    expect(await codeOf(createPersistent(`${lab.path}/a/b`, openAcl))).to.equal('NO_NODE');
    await ask(createEphemeral(`${lab.path}/e`, none, openAcl));
    expect(await codeOf(createPersistent(`${lab.path}/e/b`, openAcl))).to.equal('NO_CHILDREN_FOR_EPHEMERALS');
  });

  it('answers a read with the data and the Stat, in which a write changes the version and mzxid alone', async () => {
    const path = `${lab.path}/x`;
    await ask(createEphemeral(path, data, openAcl));
    const first = await ask(getData(path, false));
    expect(first.data).to.deep.equal(data);
    expect(await ask(exists(path))).to.deep.equal(first.stat);
    const { value: written, zxid } = await lab.probe.send(setData(path, Buffer.from('more')));
    expect(written).to.deep.equal({ ...first.stat, version: 1, mzxid: zxid });
    expect(await ask(getData(path, false))).to.deep.equal({ data: Buffer.from('more'), stat: written });
  });

  it('answers a write, a deletion and a check of another version with BAD_VERSION', async () => {
    await ask(setData(lab.path, data, 0));
    expect(await codeOf(setData(lab.path, none, 0))).to.equal('BAD_VERSION');
    expect(await codeOf(remove(lab.path, 0))).to.equal('BAD_VERSION');
    const checked = await ask(multi(checkVersion(lab.path, 0)));
    expect(checked.is === 'refused' && checked.error.code).to.equal('BAD_VERSION');
    expect(await codeOf(remove(lab.path, 1))).to.equal('done');
  });

  it('answers the deletion of a znode with children with NOT_EMPTY', async () => {
    await ask(createEphemeral(`${lab.path}/x`, none, openAcl));
    expect(await codeOf(remove(lab.path))).to.equal('NOT_EMPTY');
    await ask(remove(`${lab.path}/x`));
    expect(await codeOf(remove(lab.path))).to.equal('done');
  });

  for (const [what, request] of Object.entries<(path: string) => Operation<unknown>>({
    exists,
    getData: (path) => getData(path, false),
    getChildren,
    setData: (path) => setData(path, data),
    delete: remove,
  }))
    it(`answers ${what} of a missing znode with NO_NODE`, async () => {
      expect(await codeOf(request(`${lab.path}/missing`))).to.equal('NO_NODE');
    });

  it('lists children by their names, without an order', async () => {
    expect(await ask(getChildren(lab.path))).to.deep.equal([]);
    const names = Array.from({ length: 20 }, (_, index) => `name ${index} ä`);
    for (const name of names) await ask(createEphemeral(`${lab.path}/${name}`, none, openAcl));
    expect(await ask(getChildren(lab.path))).to.have.members(names);
  });

  it('answers sync with its path, and a ping without a zxid of its own', async () => {
    expect(await ask(sync(lab.path))).to.equal(lab.path);
    const pinged = lab.probe.next('pinged');
    lab.probe.connection.ping();
    await pinged;
    expect(ping.opcode).to.equal(11);
  });

  it('carries out a transaction as a whole, with one result for each part', async () => {
    await ask(createPersistent(`${lab.path}/old`, openAcl));
    const { value: answer, zxid } = await lab.probe.send(
      multi(
        checkExists(lab.path),
        createEphemeral(`${lab.path}/new`, data, openAcl),
        setData(lab.path, data),
        remove(`${lab.path}/old`),
      ),
    );
    if (answer.is === 'refused') throw answer.error;
    const [checked, created, written, removed] = answer.results;
    expect([checked, created, removed]).to.deep.equal([undefined, `${lab.path}/new`, undefined]);
    expect(written.mzxid).to.equal(zxid);
    expect(await ask(exists(`${lab.path}/new`))).to.include({ czxid: zxid });
    expect(await ask(getChildren(lab.path))).to.deep.equal(['new']);
  });

  it('refuses a transaction as a whole, and names the part that was the cause', async () => {
    const answer = await ask(
      multi(
        createEphemeral(`${lab.path}/new`, none, openAcl),
        checkVersion(lab.path, 7),
        remove(`${lab.path}/missing`),
      ),
    );
    if (answer.is === 'done') throw new Error('The transaction was carried out');
    expect(answer.errors.map((error) => error?.code)).to.deep.equal([undefined, 'BAD_VERSION', undefined]);
    expect(answer.error).to.equal(answer.errors[1]);
    expect(await ask(getChildren(lab.path))).to.deep.equal([]);
  });

  it('refuses a check of the root and of a missing znode, for the missing one', async () => {
    expect(await ask(check(['/', lab.path]))).to.have.property('is', 'done');
    const answer = await ask(check(['/', `${lab.path}/missing`]));
    expect(answer.is === 'refused' && answer.errors.map((error) => error?.code)).to.deep.equal([undefined, 'NO_NODE']);
  });

  for (const [mode, ttlMs, isSequential] of [
    ['persistent', undefined, false],
    ['ephemeral', undefined, false],
    ['persistentSequential', undefined, true],
    ['ephemeralSequential', undefined, true],
    ['container', undefined, false],
    ['persistentWithTtl', 60_000, false],
    ['persistentSequentialWithTtl', 60_000, true],
  ] as const)
    it(`creates a znode of the mode ${mode} in a transaction, and further parts are read after it`, async () => {
      const asked = `${lab.path}/x`;
      const answer = await ask(
        multi(createInTransaction(asked, data, openAcl, mode, ttlMs), setData(lab.path, data), checkExists(lab.path)),
      );
      if (answer.is === 'refused') throw answer.error;
      const [path, stat] = answer.results;
      expect(path).to.equal(isSequential ? `${asked}0000000000` : asked);
      expect(stat.version).to.equal(1);
      // ZooKeeper keeps the kind of a container and the time to live in this field, and does not show them.
      const owner = mode.startsWith('ephemeral') ? sessionId() : 0n;
      expect(await ask(exists(path))).to.have.property('ephemeralOwner', owner);
    });

  it('gives each transaction a higher zxid, and shows the newest one in each answer', async () => {
    const zxids: bigint[] = [];
    for (let round = 0; round < 5; round += 1) {
      const { zxid } = await lab.probe.send(setData(lab.path, data));
      zxids.push(zxid);
      expect((await lab.probe.send(exists(lab.path))).zxid).to.equal(zxid);
      expect(lab.probe.connection.lastZxid).to.equal(zxid);
    }
    for (const [index, zxid] of zxids.slice(1).entries()) expect(zxid > (zxids[index] ?? zxid)).to.equal(true);
  });

  it('answers the close of a session last, after it has deleted the ephemeral znodes', async () => {
    await ask(createEphemeral(`${lab.path}/mine`, none, openAcl));
    const other = await lab.connect();
    const answers: string[] = [];
    const reads = lab.probe.send(exists(`${lab.path}/mine`)).then(() => answers.push('exists'));
    await lab.probe.send(closeSession()).then(() => answers.push('closeSession'));
    await reads;
    expect(answers).to.deep.equal(['exists', 'closeSession']);
    expect(await codeOf(exists(`${lab.path}/mine`), other)).to.equal('NO_NODE');
  });

  it('answers a request that it does not know with UNIMPLEMENTED, and closes the connection', async () => {
    const lost = lab.probe.next('disconnected');
    const unknown: Operation<void> = {
      name: 'unknown',
      opcode: 9_999,
      kind: 'read',
      path: '/',
      write: () => undefined,
      read: () => undefined,
    };
    expect(await codeOf(unknown)).to.equal('UNIMPLEMENTED');
    await lost;
  });

  it('closes the connection of a request that is longer than jute.maxbuffer, without an answer', async () => {
    expect(await codeOf(setData(lab.path, Buffer.alloc(2 ** 20 + 1_000)))).to.equal('CONNECTION_LOSS');
    await until('the probe is connected again', () => lab.probe.connection.isConnected);
    expect((await ask(getData(lab.path, false))).data).to.have.length(0);
  });
});
