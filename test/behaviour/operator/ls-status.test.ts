import { expect } from 'chai';
import { InterProcessMutex, InterProcessSemaphore, revoke } from '../../../src/index.ts';
import { exists, setAcl } from './acl.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { answered } from '../../../lab/proxy/frame-matches.ts';
import { longerList } from '../../../lab/proxy/longer-list.ts';
import { rejection } from '../../../lab/until.ts';
import type { BoardJson } from '../../../packages/zklock/src/board/board-json.ts';
import { InProcess } from './in-process.ts';

describe('zklock ls and status', () => {
  const lab = labOfEachTest('operator', { server: 'own', proxy: true });
  const zklock = async (...words: string[]): Promise<InProcess & { readonly code: number }> => {
    const run = new InProcess(lab.connectString, words);
    return Object.assign(run, { code: await run.ended });
  };

  it('list the locks below a path, with their holders and the number of waiters', async () => {
    const hold = await lab.theirs.acquire({ data: Buffer.from('nightly job') });
    const waiting = lab.theirs.acquire();
    await lab.queueReaches(2);
    const { code, out } = await zklock('ls', '/');
    expect(code).to.equal(0);
    const [header, ...rows] = out.trim().split('\n');
    expect(header).to.match(/^PATH +KIND +STATE +HOLDER +SINCE +WAITING$/);
    expect(rows.find((row) => row.startsWith(lab.path))).to.match(/mutex +held +nightly job +≤ \d+s +1$/);
    await hold.release();
    await (await waiting).release();
  });

  it('refuse an address as the name in the servers’ certificates', async () => {
    const { code, errors } = await zklock('ls', '--tls-servername', '10.0.0.1', '/');
    expect(code).to.equal(64);
    expect(errors).to.include('Expected --tls-servername to be a host name, got "10.0.0.1"');
  });

  it('print JSON that has everything', async () => {
    await using hold = await lab.theirs.acquire({ data: 'owner' });
    const listed = (await zklock('ls', '--json', lab.path.slice(0, lab.path.lastIndexOf('/')))).json;
    expect(listed).to.deep.include({ unreadable: [], events: [] });
    const { json } = await zklock('status', '--json', lab.path);
    expect((listed as { locks: unknown[] }).locks).to.deep.equal([json]);
    const { holders } = json as { holders: Record<string, unknown>[] };
    expect(holders[0]).to.include({ path: hold.path, pid: process.pid, fencingToken: String(hold.fencingToken) });
  });

  it('show the holder, its process, its token and the waiters in their order', async () => {
    const hold = await lab.theirs.acquire({ data: 'owner' });
    const waiting = lab.theirs.acquire({ data: Buffer.from('second') });
    await lab.queueReaches(2);
    const { out } = await zklock('status', lab.path);
    expect(out).to.match(new RegExp(`^${lab.path}: mutex, held, 1 waiting\n {2}holder: \\S+ pid ${process.pid}\n`));
    expect(out).to.contain(`    token    ${hold.fencingToken}\n`).and.to.contain('  waiter 1: second\n');
    await hold.release();
    await (await waiting).release();
  });

  it('show a lock without a znode as free, and hint at the locks below it', async () => {
    const hold = await new InterProcessMutex(lab.other, `${lab.path}/below`).acquire();
    const { code, out, errors } = await zklock('status', lab.path);
    expect({ code, out }).to.deep.equal({ code: 0, out: `${lab.path}: free, 0 waiting\n` });
    expect(errors).to.contain(`zklock ls ${lab.path}`);
    await hold.release();
    expect((await zklock('status', `${lab.path}/none`)).out).to.equal(`${lab.path}/none: free, 0 waiting\n`);
  });

  it('never call a lock free that may be one of another kind', async () => {
    await (await lab.theirs.acquire()).release();
    for (const name of ['3f2504e04f8911d39a0c0305e82c3301', 'config']) await lab.observer.create(`${lab.path}/${name}`);
    const { code, out, errors } = await zklock('status', lab.path);
    expect({ code, out }).to.deep.equal({ code: 0, out: `${lab.path}: unknown, 0 waiting, 2 other znodes\n` });
    expect(errors).to.equal('2 znodes at this path may be a lock of another kind, which this command does not know\n');
    const { json } = await zklock('status', '--json', lab.path);
    expect(json).to.include({ kind: null, state: 'unknown', holderCount: 0, otherCount: 2 });
    const taken = await zklock('release', '--json', lab.path);
    expect([taken.code, taken.errors]).to.deep.equal([70, `nothing to release: ${errors}`]);
    expect(taken.json).to.deep.equal({ path: lab.path, done: 'nothing' });
  });

  it('count the znodes that are no participants of the lock', async () => {
    await using _hold = await lab.theirs.acquire();
    for (const name of ['config', '_c_6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a-lease-0000000009'])
      await lab.observer.create(`${lab.path}/${name}`);
    const { out } = await zklock('status', lab.path);
    const [, others] = /mutex, held, 0 waiting, (\d+) other znodes\n/.exec(out) ?? [];
    expect(others).to.equal('2');
    const { locks } = (await zklock('ls', '--json', lab.path)).json as { locks: object[] };
    expect(locks[0]).to.include({ path: lab.path, state: 'held', waiterCount: 0, otherCount: 2 });
  });

  it('count no znode of a semaphore’s own, and none of a free lock', async () => {
    const semaphore = new InterProcessSemaphore(lab.other, lab.path, { maxLeases: 2 });
    const lease = await semaphore.acquire();
    const before = (await zklock('status', '--json', lab.path)).json;
    expect(before).to.include({ kind: 'semaphore', state: 'held', otherCount: 0 });
    await lease.release();
    expect((await zklock('status', '--json', lab.path)).json).to.include({ state: 'free', otherCount: 0 });
  });

  it('never print control characters of a lock’s data', async () => {
    const hold = await lab.theirs.acquire({ data: Buffer.from('\u001b[2Jevil\nline') });
    const [{ out: listed }, { out: status }] = [await zklock('ls', '/'), await zklock('status', lab.path)];
    for (const text of [listed, status]) expect(text).to.contain('\\u001b[2Jevil\\u000aline');
    await hold.release();
    await using _other = await lab.theirs.acquire({ data: Buffer.from('\u009b2Jevil\u202e') });
    for (const verb of ['ls', 'status'])
      expect((await zklock(verb, '--json', lab.path)).out).to.contain('\\u009b2Jevil\\u202e');
  });

  it('never show a request to release as a name', async () => {
    await using hold = await lab.theirs.acquire();
    await revoke(lab.other, hold.path);
    const [{ out: listed }, { out: status }] = [await zklock('ls', lab.path), await zklock('status', lab.path)];
    for (const text of [listed, status])
      expect(text)
        .to.contain('asked to release')
        .and.to.contain(`session ${lab.other.health().sessionId ?? ''}`)
        .and.not.to.contain('REVOKE');
    expect(status).to.contain('data     not known: the request to release has replaced it\n');
    const { holders } = (await zklock('status', '--json', lab.path)).json as { holders: object[] };
    expect(holders[0]).to.include({ asked: 'revoke', data: null, dataBytes: null, isIdle: false });
    const error = await rejection(lab.mutex.acquire({ timeoutMs: 100 }));
    expect(error.message).not.to.contain('REVOKE');
  });

  it('claims nothing about znodes that it could not read, and fails', async () => {
    await using _hold = await lab.theirs.acquire();
    const parent = lab.path.slice(0, lab.path.lastIndexOf('/'));
    lab.proxy.on((frame) =>
      answered('getChildren2')(frame) && frame.path === lab.path
        ? { replaceWith: longerList(frame, 200_000, () => 'x') }
        : undefined,
    );
    const run = async (...words: string[]) => {
      const all = new InProcess(lab.proxy.connectString, words);
      return { code: await all.ended, out: all.out, errors: all.errors };
    };
    const { code, out, errors } = await run('ls', parent);
    expect({ code, out }).to.deep.equal({ code: 70, out: '' });
    expect(errors)
      .to.contain(`Not all is shown: 1 znode could not be read, such as ${lab.path} (since `)
      .and.to.contain('Z): The answer has 200001 names');
    expect(errors).not.to.contain('No locks');
    const json = await run('ls', '--json', parent);
    expect(json.code).to.equal(70);
    const { state, unreadable } = JSON.parse(json.out) as BoardJson;
    expect(state.is).to.equal('incomplete');
    expect(unreadable).to.deep.equal([{ path: lab.path, since: state.since }]);
  });

  it('exit with 77 if the path may not be read', async () => {
    await using _hold = await lab.theirs.acquire();
    await setAcl(lab.other, lab.path, 30);
    const { code, errors } = await zklock('ls', lab.path);
    expect(code).to.equal(77);
    expect(errors).to.contain('cannot be read').and.to.contain('NO_AUTH');
    expect(errors).to.contain('or check --auth-file').and.not.to.contain('option');
    expect(await exists(lab.other, lab.path)).to.equal(true);
    const whole = await zklock('ls', '/');
    expect(whole.code).to.equal(77);
    expect(whole.errors).to.contain(lab.path);
  });

  it('show a lock whose holder may not be read as not readable, and since when, and exit with 77', async () => {
    const hold = await lab.theirs.acquire();
    const waiting = lab.mutex.acquire({ data: Buffer.from('a waiter') });
    // The server would refuse the watch of the waiter later.
    await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === hold.path);
    await setAcl(lab.other, hold.path, 30);
    const listed = await zklock('ls', lab.path.slice(0, lab.path.lastIndexOf('/')));
    expect(listed.code).to.equal(77);
    expect(listed.out).to.match(/ mutex +not readable for \d+s +not readable +\? +1\n/);
    expect(listed.errors).to.contain(`1 znode could not be read, such as ${hold.path} (since 2`);
    const { code, out } = await zklock('status', lab.path);
    expect(code).to.equal(77);
    expect(out).to.match(
      /: mutex, not readable for \d+s, 1 waiting\n {2}holder: not readable\n {4}znode +\S+\n {4}read +/,
    );
    expect(out).to.contain('waiter 1: a waiter').and.not.to.contain('1970').and.not.to.contain('session none');
    const json = await zklock('status', '--json', lab.path);
    expect(json.json).to.include({ state: 'unreadable', holderCount: 1, waiterCount: 1 });
    expect((await zklock('revoke', lab.path)).code).to.equal(77);
    await hold.release();
    await (await waiting).release();
  });

  it('exit with 69 if no server answers, and with 64 for a bad path', async () => {
    const slow = new InProcess('127.0.0.1:1', ['ls', '--connect-timeout', '4', '/']);
    expect(await slow.ended).to.equal(69);
    expect(slow.errors).to.match(
      /^zklock: No ZooKeeper server of 127.0.0.1:1 has answered for 3.0 s; last: connect ECONNREFUSED.*\nzklock ls: /,
    );
    const run = new InProcess('127.0.0.1:1', ['ls', '--connect-timeout', '0.3', '/']);
    expect(await run.ended).to.equal(69);
    expect((await zklock('ls', 'locks')).code).to.equal(64);
    expect((await zklock('status', '/')).code).to.equal(64);
    expect((await zklock('status')).code).to.equal(64);
  });
});
