import { expect } from 'chai';
import {
  addRecursiveWatch,
  createEphemeral,
  createPersistent,
  exists,
  getChildren,
  getData,
  openAcl,
  remove,
  removeRecursiveWatch,
  removeWatch,
  setData,
  setWatches,
} from '../../src/zookeeper/wire/operations.ts';
import { needs } from '../../lab/skip-without.ts';
import { probeOfEachTest } from './probe.ts';

const none = new Uint8Array(0);

describe('a watch on a real server', () => {
  const lab = probeOfEachTest();
  const { ask, codeOf, fired } = lab;
  let path: string;

  beforeEach(async () => {
    path = `${lab.path}/x`;
    await ask(createPersistent(path, openAcl));
  });

  const pathsOf = (events: readonly { readonly path: string; readonly event: string }[]): string[] =>
    events.map(({ path: of, event }) => `${event} ${of.slice(lab.path.length)}`);

  it('fires once, with the first change', async () => {
    await ask(getData(path, true));
    await ask(setData(path, none));
    await ask(setData(path, none));
    await ask(remove(path));
    expect(pathsOf(lab.probe.fired)).to.deep.equal(['changed /x']);
  });

  it('arrives before any answer that shows the change, although another session has made it', async () => {
    const other = await lab.connect();
    for (let round = 1; round <= 20; round += 1) {
      await ask(getData(path, true));
      const written = ask(setData(path, none), other);
      while ((await ask(exists(path))).version < round);
      expect(lab.probe.fired).to.have.length(round);
      await written;
    }
  });

  it('of data fires at a write and at the deletion, and one of children at each change of the list', async () => {
    await ask(getData(path, true));
    await ask(getChildren(path, true));
    await ask(createEphemeral(`${path}/child`, none, openAcl));
    await ask(setData(path, none));
    await ask(getChildren(path, true));
    await ask(remove(`${path}/child`));
    await ask(getData(path, true));
    await ask(remove(path));
    expect(pathsOf(lab.probe.fired)).to.deep.equal(['children /x', 'changed /x', 'children /x', 'deleted /x']);
  });

  it('of exists fires at the creation of a missing znode; a refused getData leaves none behind', async () => {
    expect(await codeOf(exists(`${path}/1`, true))).to.equal('NO_NODE');
    expect(await codeOf(getData(`${path}/2`, true))).to.equal('NO_NODE');
    for (const name of ['1', '2']) await ask(createEphemeral(`${path}/${name}`, none, openAcl));
    expect(pathsOf(lab.probe.fired)).to.deep.equal(['created /x/1']);
  });

  it('that was removed does not fire, and cannot be removed again', async () => {
    await ask(getData(path, true));
    await ask(getChildren(path, true));
    await ask(removeWatch(path, 'data'));
    expect(await codeOf(removeWatch(path, 'data'))).to.equal('NO_WATCHER');
    await ask(setData(path, none));
    expect(pathsOf(lab.probe.fired)).to.deep.equal([]);
    await ask(removeWatch(path, 'children'));
    expect(await lab.server.command('wchs')).to.contain('Total watches:0');
  });

  it('of a whole tree reports creations, writes and deletions, again and again, until it is removed', async function () {
    needs(this, 'addWatch');
    await ask(addRecursiveWatch(lab.path));
    for (let round = 0; round < 2; round += 1) {
      await ask(createEphemeral(`${path}/child`, none, openAcl));
      await ask(setData(`${path}/child`, none));
      await ask(remove(`${path}/child`));
    }
    const round = ['created /x/child', 'changed /x/child', 'deleted /x/child'];
    expect(pathsOf(lab.probe.fired)).to.deep.equal([...round, ...round]);
    await ask(removeRecursiveWatch(lab.path));
    await ask(remove(path));
    expect(lab.probe.fired).to.have.length(6);
  });

  it('ends with its connection', async () => {
    await ask(getData(path, true));
    const again = lab.probe.next('connected');
    lab.probe.connection.attach(0);
    await again;
    await ask(setData(path, none));
    await ask(exists(path));
    expect(lab.probe.fired).to.deep.equal([]);
  });

  it('is planted again on the next connection, and fires then', async () => {
    await ask(getData(path, true));
    lab.probe.watched.add(path);
    const again = lab.probe.next('connected');
    lab.probe.connection.attach(0);
    await again;
    await ask(setData(path, none));
    expect(pathsOf(await fired(1))).to.deep.equal(['changed /x']);
  });

  for (const [what, change, event] of [
    ['a deletion', () => remove(path), 'deleted /x'],
    ['a write', () => setData(path, none), 'changed /x'],
  ] as const)
    it(`that is planted again reports ${what} since the last zxid at once`, async () => {
      const { zxid } = await lab.probe.send(getData(path, false));
      const other = await lab.connect();
      await ask(change(), other);
      await ask(setWatches(zxid, 'data', () => [path]));
      expect(pathsOf(await fired(1))).to.deep.equal([event]);
    });

  it('of children that is planted again reports a change of the list since the last zxid at once', async () => {
    const { zxid } = await lab.probe.send(getChildren(path));
    await ask(createEphemeral(`${path}/child`, none, openAcl));
    await ask(setWatches(zxid, 'children', () => [path]));
    expect(pathsOf(await fired(1))).to.deep.equal(['children /x']);
  });

  it('that is planted again reports nothing if nothing has changed, and fires later', async () => {
    const { zxid } = await lab.probe.send(getData(path, false));
    await ask(setWatches(zxid, 'data', () => [path]));
    await ask(exists(path));
    expect(lab.probe.fired).to.deep.equal([]);
    await ask(remove(path));
    expect(pathsOf(await fired(1))).to.deep.equal(['deleted /x']);
  });
});
