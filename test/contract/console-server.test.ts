import { expect } from 'chai';
import { request } from 'node:http';
import { LockBoard } from '../../src/board/lock-board.ts';
import { ConsoleServer } from '../../src/console/console-server.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { WatchedBoard } from '../behaviour/board/board-of.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

describe('the server of the web console', () => {
  const lab = labOfEachTest('served');
  const consoles: { server: ConsoleServer; board: LockBoard }[] = [];

  const start = async (allowRevoke = false): Promise<string> => {
    const root = lab.path.slice(0, lab.path.lastIndexOf('/'));
    const shown = new WatchedBoard(lab.client, root);
    await shown.live();
    const { board } = shown;
    const server = await ConsoleServer.start({ client: lab.client, board, host: '127.0.0.1', port: 0, allowRevoke });
    consoles.push({ server, board });
    return server.url;
  };
  afterEach(async () => {
    for (const { server, board } of consoles.splice(0)) {
      await server[Symbol.asyncDispose]();
      board.close();
    }
  });

  /** Not `fetch`, which does not let a test choose the header Host. */
  const ask = (url: string, method = 'GET', headers: Record<string, string> = {}, body = ''): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const sent = request(url, { method, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (more: string) => (text += more));
        response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
      });
      sent.once('error', reject);
      sent.end(body);
    });
  const tokenOf = async (url: string): Promise<string> =>
    /name="token" content="([^"]*)"/.exec((await ask(url)).text)?.[1] ?? 'none';
  const json = { 'content-type': 'application/json' };

  it('serves the page with a strict policy, and only its own files', async () => {
    const url = await start();
    const page = await ask(url);
    expect(page.status).to.equal(200);
    expect(page.headers['content-security-policy']).to.contain("default-src 'none'").and.not.to.contain('unsafe');
    expect(page.headers).to.include({ 'x-frame-options': 'DENY', 'x-content-type-options': 'nosniff' });
    expect(page.text).to.not.match(/<script>|style=|onclick|https?:\/\//);
    for (const file of ['console.css', 'console.js', 'locks.js', 'icon.svg'])
      expect((await ask(`${url}${file}`)).status, file).to.equal(200);
    for (const file of ['folder.cts', 'index.html', '..%2f..%2fpackage.json', 'api/none'])
      expect((await ask(`${url}${file}`)).status, file).to.equal(404);
    expect((await ask(url, 'DELETE')).status).to.equal(405);
  });

  it('has all locks as JSON, and one lock with all its waiters', async () => {
    const hold = await lab.theirs.acquire({ data: 'owner' });
    const url = await start();
    const all = JSON.parse((await ask(`${url}api/locks`)).text) as { locks: { path: string }[]; state: object };
    expect(all.locks.map(({ path }) => path)).to.deep.equal([lab.path]);
    expect(all.state).to.deep.equal({ is: 'live', since: null });
    const one = JSON.parse((await ask(`${url}api/locks?path=/none`)).text) as { locks: unknown[] };
    expect(one.locks).to.deep.equal([]);
    await hold.release();
  });

  it('refuses other hosts and other sites, for every path', async () => {
    const url = await start(true);
    for (const path of ['', 'api/locks', 'api/events', 'console.js']) {
      expect((await ask(`${url}${path}`, 'GET', { host: 'evil.example' })).status, path).to.equal(403);
      expect((await ask(`${url}${path}`, 'GET', { origin: 'http://evil.example' })).status, path).to.equal(403);
    }
    expect((await ask(`${url}api/locks`, 'GET', { 'sec-fetch-site': 'cross-site' })).status).to.equal(403);
    expect((await ask(url, 'GET', { 'sec-fetch-site': 'cross-site' })).status).to.equal(200);
  });

  it('takes no lock unless that is allowed', async () => {
    const hold = await lab.theirs.acquire();
    const url = await start();
    expect(await tokenOf(url)).to.equal('');
    const answer = await ask(`${url}api/release`, 'POST', { ...json, 'x-zklock-token': '' }, JSON.stringify(hold));
    expect(answer.status).to.equal(403);
    expect(hold.isValid).to.equal(true);
    await hold.release();
  });

  it('takes a lock only with the token of the page, and as JSON', async () => {
    const hold = await lab.theirs.acquire();
    const url = await start(true);
    const body = JSON.stringify({ path: hold.path });
    const token = await tokenOf(url);
    expect(token).to.match(/^[\w-]{43}$/);
    for (const headers of [
      json,
      { ...json, 'x-zklock-token': '' },
      { ...json, 'x-zklock-token': `${token}x` },
      { 'content-type': 'text/plain', 'x-zklock-token': token },
      { ...json, 'x-zklock-token': token, origin: 'http://evil.example' },
    ])
      expect((await ask(`${url}api/release`, 'POST', headers, body)).status).to.be.oneOf([403, 415]);
    expect(hold.isValid).to.equal(true);
    const answer = await ask(`${url}api/release`, 'POST', { ...json, 'x-zklock-token': token }, body);
    expect(answer.status).to.equal(200);
    expect(hold.isValid).to.equal(false);
    await hold.release();
  });

  it('takes only the znodes that it shows', async () => {
    const url = await start(true);
    const elsewhere = await lab.other.withLock(`${lab.path}-elsewhere/x`, () => 'done');
    expect(elsewhere).to.equal('done');
    const headers = { ...json, 'x-zklock-token': await tokenOf(url) };
    for (const [path, status] of [
      ['/zookeeper/config', 404],
      [lab.path, 404],
      [undefined, 400],
    ] as const)
      expect((await ask(`${url}api/revoke`, 'POST', headers, JSON.stringify({ path }))).status).to.equal(status);
    expect((await ask(`${url}api/revoke`, 'POST', headers, 'x'.repeat(30_000))).status).to.equal(400);
  });

  it('rejects a port that is in use', async () => {
    const url = await start();
    const { board, server } = consoles[0] as { board: LockBoard; server: ConsoleServer };
    expect(server.url).to.equal(url);
    const port = Number(new URL(url).port);
    const error = await ConsoleServer.start({
      client: lab.client,
      board,
      host: '127.0.0.1',
      port,
      allowRevoke: false,
    }).catch((reason: unknown) => reason);
    expect(error).to.include({ code: 'EADDRINUSE' });
  });
});
