import { expect } from 'chai';
import { eventsBetween, holdersOf } from '../../../packages/zklock/src/board/board-event.ts';
import { ParticipantZnode } from '../../../packages/zklock/src/board/participant-znode.ts';
import { lockAt, type KnownZnodes } from '../../../packages/zklock/src/board/lock-view.ts';
import { Directory } from '../../../packages/zklock/src/board/znode-tree.ts';
import { participantName } from '../../../packages/zklock/src/board/participant-name.ts';

const at = (directory: Directory, name: string, { session = 1n, czxid = 1n, data = '' } = {}): ParticipantZnode => {
  const said = participantName(name);
  if (!said) throw new Error(`${name} is no participant`);
  const znode = new ParticipantZnode(`${directory.path}/${name}`, said);
  znode.read(Buffer.from(data), { czxid, mzxid: czxid, createdAtMs: 0, version: 0, ephemeralOwner: session });
  directory.participants.set(name, znode);
  return znode;
};
const circumstances = { path: '/a', atMs: 0, duringOutage: false, isLost: () => false };
const known = (directories: ReadonlyMap<string, Directory>): KnownZnodes => ({ directories, unreadable: new Map() });
const namesOf = (znodes: readonly ParticipantZnode[] = []): string[] =>
  znodes.map(({ path }) => path.split('/').at(-1) ?? '');

describe('a look at a lock', () => {
  it('lets all readers before the first writer hold, and a writer only alone or with its downgrade', () => {
    const directory = new Directory('/a');
    const directories = new Map([['/a', directory]]);
    for (const name of ['__READ__0000000001', '__READ__0000000002', '__WRIT__0000000003', '__READ__0000000004'])
      at(directory, name);
    expect(namesOf(lockAt('/a', known(directories))?.holders)).to.deep.equal([
      '__READ__0000000001',
      '__READ__0000000002',
    ]);
    directory.participants.delete('__READ__0000000001');
    directory.participants.delete('__READ__0000000002');
    at(directory, '__READ__0000000003');
    expect(namesOf(lockAt('/a', known(directories))?.holders)).to.deep.equal([
      '__WRIT__0000000003',
      '__READ__0000000003',
    ]);
    expect(namesOf(lockAt('/a', known(directories))?.waiters)).to.deep.equal(['__READ__0000000004']);
  });

  it('counts a permit that its owner still waits for as no holder', () => {
    const [leases, locks] = [new Directory('/s/leases'), new Directory('/s/locks')];
    const directories = new Map([leases, locks, new Directory('/s')].map((one) => [one.path, one]));
    at(leases, 'lease-0000000000', { session: 1n, czxid: 10n });
    at(locks, 'lock-0000000001', { session: 2n, czxid: 11n });
    at(leases, 'lease-0000000002', { session: 2n, czxid: 12n });
    const view = lockAt('/s', known(directories));
    expect(namesOf(view?.holders)).to.deep.equal(['lease-0000000000']);
    expect(namesOf(view?.waiters)).to.deep.equal(['lock-0000000001']);
    expect(lockAt('/s/locks', known(directories))).to.equal(undefined);
    expect(lockAt('/s/leases', known(directories))).to.equal(undefined);
  });

  it('is no lock where a znode is named as a participant, but has children', () => {
    const [parent, lock] = [new Directory('/a'), new Directory('/a/lock-0000000001')];
    at(parent, 'lock-0000000001', { session: 0n });
    at(lock, 'lock-0000000000');
    const directories = new Map([parent, lock].map((one) => [one.path, one]));
    expect(lockAt('/a', known(directories))).to.equal(undefined);
    expect(namesOf(lockAt('/a/lock-0000000001', known(directories))?.holders)).to.deep.equal(['lock-0000000000']);
  });

  it('tells a hand-over, a release, a grant and a loss', () => {
    const directory = new Directory('/a');
    const directories = new Map([['/a', directory]]);
    const [first, second] = [at(directory, 'lock-0000000001'), at(directory, 'lock-0000000002')];
    const before = holdersOf(lockAt('/a', known(directories)));
    directory.participants.delete('lock-0000000001');
    const after = lockAt('/a', known(directories));
    const typesOf = (...args: Parameters<typeof eventsBetween>): string[] =>
      eventsBetween(...args).map(({ type }) => type);
    expect(eventsBetween(before, after, circumstances)).to.deep.equal([
      { atMs: 0, path: '/a', duringOutage: false, type: 'handed-over', from: first, to: second },
    ]);
    expect(typesOf(before, undefined, circumstances)).to.deep.equal(['released']);
    expect(typesOf(holdersOf(undefined), after, circumstances)).to.deep.equal(['granted']);
    expect(typesOf(before, after, { ...circumstances, isLost: () => true })).to.deep.equal(['lost', 'granted']);
    expect(typesOf(before, lockAt('/a', known(directories)), circumstances)).to.deep.equal(['handed-over']);
  });
});
