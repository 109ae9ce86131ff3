import { expect } from 'chai';
import { InterProcessMutex } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { setAcl } from './acl.ts';
import { InProcess } from './in-process.ts';

describe('zklock watch', () => {
  const lab = labOfEachTest('watched', { server: 'own', proxy: true });
  const terminal = { columns: 120, rows: 24 };
  let run: InProcess;
  const start = (words: string[], size?: { columns: number; rows: number }): InProcess =>
    (run = new InProcess(lab.proxy.connectString, ['watch', ...words], size));
  const bytes = (text: string): { data: Buffer } => ({ data: Buffer.from(text) });

  afterEach(async () => {
    run.signal('SIGTERM');
    await run.ended;
  });

  it('prints a line for each event where there is no terminal, and ends with the signal’s code', async () => {
    const first = await lab.theirs.acquire(bytes('first'));
    start(['/']);
    await run.until(() => run.out.includes(`held        ${lab.path} 0 waiting`));
    await first.release();
    const second = await lab.theirs.acquire(bytes('second'));
    await run.until(() => run.out.includes('second'));
    expect(run.out).to.match(new RegExp(`(granted|handed-over) +${lab.path} .*to second \\[0x`));
    await second.release();
    run.signal('SIGINT');
    expect(await run.ended).to.equal(130);
  });

  it('prints a line of JSON for each event, and for the loss and return of the connection', async () => {
    await using _before = await new InterProcessMutex(lab.other, `${lab.path}-before`).acquire();
    start(['--json', '/']);
    await run.until(() => run.out.includes('"lock"'));
    await using _first = await lab.theirs.acquire(bytes('first'));
    await run.until(() => run.out.includes('"granted"'));
    await lab.proxy.refuse();
    lab.proxy.cut();
    await run.until(() => run.out.includes('"cut-off"'));
    await lab.proxy.accept();
    await run.until(() => run.out.includes('"live"'));
    const events = run.out
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { type: string }).type);
    expect(events).to.deep.equal(['lock', 'granted', 'cut-off', 'live']);
  });

  for (const json of [false, true])
    it(`names what it could not read, and fails when its reader leaves${json ? ', as JSON' : ''}`, async () => {
      await using _hold = await lab.theirs.acquire();
      await setAcl(lab.other, lab.path, 30);
      start(json ? ['--json', '/'] : ['/']);
      await run.until(() => (json ? run.out : run.errors).includes(lab.path));
      if (json) {
        const [line = ''] = run.out.split('\n').filter((each) => each.includes(lab.path));
        const said = JSON.parse(line) as { at: string; since: string };
        expect(said).to.deep.include({ type: 'incomplete', unreadable: [{ path: lab.path, since: said.since }] });
        expect(Date.parse(said.since)).to.be.within(Date.parse(said.at) - 10_000, Date.parse(said.at));
      } else expect(run.errors).to.contain(`Not all is shown: 1 znode could not be read, such as ${lab.path} (since 2`);
      run.stopReading();
      expect(await run.ended).to.equal(77);
      await setAcl(lab.other, lab.path, 31);
    });

  it('says when it shows all again, and then ends with success', async () => {
    await using _hold = await lab.theirs.acquire();
    await setAcl(lab.other, lab.path, 30);
    start(['/']);
    await run.until(() => run.errors.includes(`such as ${lab.path} (since`));
    await setAcl(lab.other, lab.path, 31);
    await run.until(() => run.errors.includes('All is shown again'));
    run.stopReading();
    expect(await run.ended).to.equal(0);
  });

  it('fills a terminal, follows changes, fits a new size, and leaves with q', async () => {
    start(['/'], terminal);
    await run.until(() => run.screen.includes('0 locks'));
    await using _hold = await lab.theirs.acquire(bytes('a holder'));
    await run.until(() => run.screen.includes('1 held') && run.screen.includes('a holder'));
    run.resize(60, 10);
    await run.until(() => run.screen.split('\r\n').every((line) => line.length <= 60) && run.screen.includes('held'));
    expect(run.screen.split('\r\n').length).to.be.at.most(10);
    expect(run.out).to.contain('\u001b[?1049h').and.not.to.contain('\u001b[?1049l');
    run.press('q');
    expect(await run.ended).to.equal(0);
    expect(run.out.endsWith('\u001b[?25h\u001b[?1049l')).to.equal(true);
  });

  it('says on a terminal that a lock is not readable, and since when', async () => {
    const hold = await lab.theirs.acquire();
    await setAcl(lab.other, hold.path, 30);
    start(['/'], terminal);
    await run.until(() => /NOT ALL IS SHOWN: 1 znodes not readable for \ds · \/: 1 locks, 0 held/.test(run.screen));
    expect(run.screen).to.match(/ mutex +not readable for \ds +not readable/);
    await hold.release();
    await run.until(() => run.screen.startsWith('/: 0 locks'));
  });

  it('changes the order with s, and scrolls', async () => {
    const holds = [];
    for (const name of ['a', 'b', 'c'])
      holds.push(await new InterProcessMutex(lab.other, `${lab.path}/${name}`).acquire());
    const waiting = new InterProcessMutex(lab.other, `${lab.path}/c`).acquire();
    start(['/'], terminal);
    const order = (): string => [...run.screen.matchAll(/^\/test-\S+\/(\w) /gm)].map(([, name]) => name).join('');
    await run.until(() => order() === 'abc');
    run.press('s');
    await run.until(() => order() === 'cab');
    run.press('\u001b[B');
    await run.until(() => order() === 'ab');
    for (const hold of holds) await hold.release();
    await (await waiting).release();
  });

  it('says that it is cut off', async () => {
    start(['/'], terminal);
    await run.until(() => run.screen.includes('0 locks'));
    await lab.proxy.refuse();
    lab.proxy.cut();
    await run.until(() => run.screen.includes('CUT OFF FROM ZOOKEEPER'));
    await lab.proxy.accept();
    await run.until(() => run.screen.startsWith('/: 0 locks'));
  });
});
