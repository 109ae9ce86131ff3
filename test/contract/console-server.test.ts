import { expect } from 'chai';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { LockBoard, type BoardChange } from '../../packages/zklock/src/board/lock-board.ts';
import { ConsoleServer } from '../../packages/zklock/src/console/console-server.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { until } from '../../lab/until.ts';
import { WatchedBoard } from '../behaviour/board/board-of.ts';

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly text: string;
}

describe('the server of the web console', () => {
  const lab = labOfEachTest('served');
  const consoles: { server: ConsoleServer; board: LockBoard }[] = [];
  /** Tells the pages of the newest console a change. */
  let tell: (change: BoardChange) => void = () => undefined;

  const start = async (allowRevoke = false, stalledMs?: number): Promise<string> => {
    const root = lab.path.slice(0, lab.path.lastIndexOf('/'));
    const shown = new WatchedBoard(lab.client, root);
    await shown.live();
    const { board } = shown;
    const onChange = board.onChange.bind(board);
    board.onChange = (listener) => onChange((tell = listener));
    const server = await ConsoleServer.start({
      client: lab.client,
      board,
      host: '127.0.0.1',
      port: 0,
      allowRevoke,
      ...(stalledMs === undefined ? {} : { stalledMs }),
    });
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
    const head = await ask(url, 'HEAD');
    expect([head.status, head.headers['content-type'], head.text]).to.deep.equal([
      200,
      page.headers['content-type'],
      '',
    ]);
    expect((await ask(`${url}api/events`, 'HEAD')).status).to.equal(405);
  });

  it('has all locks as JSON, and one lock with all its waiters', async () => {
    await using _hold = await lab.theirs.acquire({ data: 'owner' });
    const url = await start();
    const all = JSON.parse((await ask(`${url}api/locks`)).text) as { locks: { path: string }[]; state: object };
    expect(all.locks.map(({ path }) => path)).to.deep.equal([lab.path]);
    expect(all.state).to.deep.equal({ is: 'live', since: null });
    const one = JSON.parse((await ask(`${url}api/locks?path=/none`)).text) as { locks: unknown[] };
    expect(one.locks).to.deep.equal([]);
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
    await using hold = await lab.theirs.acquire();
    const url = await start();
    expect(await tokenOf(url)).to.equal('');
    const answer = await ask(`${url}api/release`, 'POST', { ...json, 'x-zklock-token': '' }, JSON.stringify(hold));
    expect(answer.status).to.equal(403);
    expect(hold.isValid).to.equal(true);
  });

  it('takes a lock only with the token of the page, and as JSON', async () => {
    await using hold = await lab.theirs.acquire();
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

  it('answers one request of a connection, however many were sent together', async () => {
    const url = await start();
    let built = 0;
    const { board } = consoles[0] as { board: LockBoard };
    const { locks } = board;
    Object.defineProperty(board, 'locks', { get: () => ((built += 1), locks) });
    const { hostname, port, host } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    socket.write(`GET /api/locks HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(1_000));
    let text = '';
    socket.on('data', (more: Buffer) => (text += String(more))).on('error', () => undefined);
    await once(socket, 'close');
    expect(text.match(/^HTTP\/1\.1 200/gm)).to.have.lengthOf(1);
    expect(built).to.equal(1);
    expect((await ask(url)).headers).to.include({ connection: 'close' });
  });

  for (const [what, said] of [
    ['sends nothing', ''],
    ['sends only a part of its request', 'GET / HTTP/1.1\r\nhost'],
  ] as const)
    it(`ends a connection that ${what}`, async () => {
      const url = await start(false, 300);
      const { hostname, port } = new URL(url);
      const socket = connect({ host: hostname, port: Number(port) });
      socket.on('error', () => undefined).resume();
      const startedAt = performance.now();
      socket.write(said);
      await once(socket, 'close');
      expect(performance.now() - startedAt).to.be.below(5_000);
    });

  describe('with pages that follow the events', function () {
    this.timeout(180_000);
    const pages: Socket[] = [];

    afterEach(() => {
      for (const page of pages.splice(0)) page.destroy();
    });

    /** Opens a page from an address of this machine. The page reads only when the test does. */
    const open = async (url: string, localAddress = '127.0.0.1', more = ''): Promise<Socket> => {
      const { hostname, port, host } = new URL(url);
      const page = connect({ host: hostname, port: Number(port), localAddress });
      pages.push(page);
      page.on('error', () => undefined);
      await once(page, 'connect');
      page.write(`GET /api/events HTTP/1.1\r\nhost: ${host}\r\n${more}\r\n`);
      await once(page, 'readable');
      return page;
    };
    const statusOf = (page: Socket): string => /^HTTP\/1\.1 (\d+)/.exec(String(page.read()))?.[1] ?? '';
    /** More than the kernel keeps for a connection that nobody reads. */
    const much = 24_000_000;
    const comeBackLater = 'retry: 10000';
    const ended = async (page: Socket): Promise<void> => {
      let text = '';
      page.on('data', (more: Buffer) => (text += String(more)));
      await once(page, 'end');
      expect(text).to.contain(comeBackLater);
    };
    const tellGone = (name: string): void => tell({ state: { is: 'live' }, locks: [], gone: [name], events: [] });

    it('ends the connections of pages that take no byte', async () => {
      const url = await start(false, 500);
      const stuck = await Promise.all(Array.from({ length: 20 }, () => open(url)));
      const sockets = (): number => process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap').length;
      const before = sockets();
      tellGone('x'.repeat(much));
      await until('the ends of the server are closed', () => sockets() <= before - stuck.length);
      expect(stuck.some((page) => page.readableEnded)).to.equal(false);
    });

    it('keeps a page that reads slowly, and a page that has nothing to read', async () => {
      const url = await start(false, 1_000);
      const page = await open(url);
      tellGone('x'.repeat(much));
      const startedAt = performance.now();
      let read = 0;
      page.on('readable', () => undefined);
      while (read < much) {
        await sleep(5);
        for (let chunk: Buffer | null; read < much && (chunk = page.read() as Buffer | null);) read += chunk.length;
      }
      expect(performance.now() - startedAt).to.be.greaterThan(1_000);
      // Node.js begins a second wait if the last bytes left during the first one.
      await sleep(4_000);
      tellGone('/the/last');
      let text = '';
      await until('the page gets the next change', () => (text += String(page.read())).includes('/the/last'));
    });

    it('lets one address have a part of the places only', async () => {
      const url = await start();
      const first = await Promise.all(Array.from({ length: 20 }, () => open(url)));
      expect(first.map(statusOf)).to.deep.equal(first.map(() => '200'));
      expect(statusOf(await open(url))).to.equal('503');
      expect(statusOf(await open(url, '127.0.0.1', 'x-forwarded-for: 10.0.0.9\r\n'))).to.equal('503');
      expect(statusOf(await open(url, '127.0.0.2'))).to.equal('200');
      first[0]?.destroy();
      await until('a place is free', async () => statusOf(await open(url)) === '200');
    });

    it('ends an old page of a full address for a new one', async () => {
      const url = await start(false, 1_000);
      const first = await open(url);
      const others = await Promise.all(Array.from({ length: 19 }, () => open(url)));
      expect(statusOf(await open(url))).to.equal('503');
      await sleep(1_100);
      expect(statusOf(await open(url))).to.equal('200');
      await ended(first);
      expect(statusOf(await open(url))).to.equal('200');
      expect(others.filter((page) => String(page.read()).includes(comeBackLater))).to.have.lengthOf(1);
    });

    it('ends the oldest page of the address that has the most, when all places are taken', async () => {
      const url = await start();
      const lone = await open(url, '127.0.0.9');
      for (const [address, count] of [
        ['127.0.0.2', 19],
        ['127.0.0.3', 19],
        ['127.0.0.4', 19],
        ['127.0.0.5', 19],
        ['127.0.0.6', 3],
      ] as const)
        await Promise.all(Array.from({ length: count }, () => open(url, address)));
      const oldest = await open(url, '127.0.0.7');
      await Promise.all(Array.from({ length: 19 }, () => open(url, '127.0.0.7')));
      expect(statusOf(await open(url, '127.0.0.8'))).to.equal('200');
      await ended(oldest);
      expect(statusOf(lone)).to.equal('200');
      expect(lone.readableEnded).to.equal(false);
      tellGone('/the/last');
      await until('the lone page gets the next change', () => String(lone.read()).includes('/the/last'));
    });
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
