import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { expect } from 'chai';
import { pino } from 'pino';
import winston from 'winston';
import {
  InterProcessMutex,
  InterProcessSemaphore,
  LockClient,
  type LogDetails,
  type Logger,
} from '../../../src/index.ts';
import { sessionName } from '../../../src/zookeeper/wire/wire-session.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { reached } from '../../../lab/reached.ts';
import { startSilentServer } from '../../../lab/servers/silent-server.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { now } from '../../../lab/world.ts';

type Level = 'info' | 'warn' | 'error';

/** Records each logged line with its level. */
class LogBook implements Logger {
  readonly lines: [Level, string][] = [];
  /** The time of each line. */
  readonly times: number[] = [];
  readonly errors: unknown[] = [];

  info(_details: LogDetails, message: string): void {
    this.#add('info', message);
  }

  warn(details: LogDetails, message: string): void {
    this.#add('warn', message);
    this.errors.push(details.err);
  }

  error(_details: LogDetails, message: string): void {
    this.#add('error', message);
  }

  get levels(): Level[] {
    return this.lines.map(([level]) => level);
  }

  /** A line that tells the end of an outage follows the state: the server must answer first. */
  logged(count: number): Promise<void> {
    return until(`${count} lines are logged`, () => this.lines.length >= count);
  }

  #add(level: Level, message: string): void {
    this.lines.push([level, message]);
    this.times.push(now());
  }
}

describe('the log of an outage', () => {
  // The tick of the server is 500 ms: it grants between 1 second and a minute.
  const lab = labOfEachTest('outage-log', { server: 'own', proxy: true, client: 'none' });
  let book: LogBook;

  beforeEach(() => (book = new LogBook()));

  /** Keeps the client away until its session has ended. */
  const expire = async (client: LockClient): Promise<void> => {
    const reconnected = reached(client, 'reconnected');
    await lab.proxy.refuse();
    await lab.observer.endSession(client);
    lab.proxy.cut();
    await lab.proxy.accept();
    await reconnected;
  };

  it('has a connect that no server answers, after 3 s, with the servers that were tried and their errors', async () => {
    await using silent = await startSilentServer();
    const hosts = `127.0.0.1:1,${silent.connectString}`;
    const startedAt = lab.now();
    const error = await rejection(LockClient.connect(hosts, { connectionTimeoutMs: 8_000, logger: book }));
    expect(error).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
    expect(book.levels).to.deep.equal(['warn']);
    expect((book.times[0] ?? 0) - startedAt).to.be.within(3_000, 3_100);
    const [, text = ''] = book.lines[0] ?? [];
    expect(text)
      .to.contain(`No ZooKeeper server of ${hosts} has answered for 3.0 s; last: `)
      .and.to.contain('127.0.0.1:1: connect ECONNREFUSED 127.0.0.1:1')
      .and.to.contain(`${silent.connectString}: `)
      .and.to.contain('The client tries for 5.0 s more');
  });

  const connect = (sessionTimeoutMs: number): Promise<LockClient> => lab.connect({ sessionTimeoutMs, logger: book });

  it('of less than the session timeout reports the loss, its cause, and that the session goes on', async () => {
    const client = await connect(10_000);
    const id = sessionName(client.session.id);
    await using _hold = await new InterProcessMutex(client, lab.path).acquire();
    const reconnected = reached(client, 'reconnected');
    lab.proxy.cut();
    await reconnected;
    await book.logged(2);
    expect(book.levels).to.deep.equal(['warn', 'info']);
    const [lost, again] = book.lines.map(([, text]) => text);
    expect(lost).to.match(
      new RegExp(
        `^Connection to ${lab.proxy.connectString} lost: ${lab.proxy.connectString} closed the connection\\. Session ${id} is suspended; it holds 1 lock, for [5-9]\\.\\d s at most unless a server answers$`,
      ),
    );
    expect(book.errors[0])
      .to.be.instanceOf(Error)
      .with.property('message', `${lab.proxy.connectString} closed the connection`);
    expect(again).to.match(
      new RegExp(`^Connected to ${lab.proxy.connectString} again after \\d+ ms: session ${id} goes on$`),
    );
  });

  it('of a quiet client ends at once, and not a third of the session timeout later', async () => {
    await connect(60_000);
    const cutAt = lab.now();
    lab.proxy.cut();
    await until('the end is logged', () => book.levels.includes('info'));
    expect(lab.now() - cutAt).to.be.below(1_000);
  });

  it('counts each outage from its own start', async () => {
    const client = await connect(10_000);
    for (const [index, time] of ['first', 'second'].entries()) {
      const reconnected = reached(client, 'reconnected');
      lab.proxy.cut();
      await reconnected;
      await book.logged(2 * (index + 1));
      const [, lastedMs] = / again after (\d+) ms/.exec(book.lines.at(-1)?.[1] ?? '') ?? [];
      const [startedAt = 0, endedAt = 0] = book.times.slice(-2);
      expect(Number(lastedMs), time).to.equal(Math.round(endedAt - startedAt));
      await lab.sleep(1_000);
    }
  });

  it('says so when no lock is held', async () => {
    const client = await connect(10_000);
    const reconnected = reached(client, 'reconnected');
    lab.proxy.cut();
    await reconnected;
    expect(book.lines[0]?.[1]).to.match(/ is suspended; it holds no lock$/);
  });

  it('that loses a lock reports an error, the silence, the new session and the end of the old one', async () => {
    const client = await connect(2_000);
    const id = sessionName(client.session.id);
    const hold = await new InterProcessMutex(client, lab.path).acquire();
    const loss = aborted(hold.signal);
    const reconnected = reached(client, 'reconnected');
    lab.proxy.silence();
    await loss;
    lab.proxy.speak();
    await reconnected;
    await book.logged(3);
    await hold.release();
    await until('the end of the lost session is logged', () => book.lines.length === 4);
    expect(book.levels).to.deep.equal(['warn', 'error', 'info', 'info']);
    const [suspended, lost, again, closed] = book.lines.map(([, text]) => text);
    expect(suspended)
      .to.contain('lost: the server has not answered for 500 ms or more. Session')
      .and.to.contain('is suspended; it holds 1 lock');
    expect(lost).to.match(
      new RegExp(
        `^Session ${id} is lost: its deadline has passed, and no server has answered for \\d+\\.\\d s; last: .*not answer.*\\. The lock that it held is lost$`,
      ),
    );
    expect(again).to.match(
      new RegExp(
        `^Connected to ${lab.proxy.connectString} again after .*, in the new session ${sessionName(client.session.id)} in place of ${id}$`,
      ),
    );
    expect(closed).to.equal(`Session ${id}, which was given up, has ended on the servers: its znodes are gone`);
  });

  it('without a hold reports each step once: suspended, lost, ended, connected again', async () => {
    const client = await connect(1_000);
    const id = sessionName(client.session.id);
    const lost = reached(client, 'lost');
    const reconnected = reached(client, 'reconnected');
    lab.proxy.silence();
    await lost;
    await until('the server has expired the session', async () => !(await lab.server.command('dump')).includes(id));
    lab.proxy.speak();
    await reconnected;
    await book.logged(4);
    expect(book.levels).to.deep.equal(['warn', 'warn', 'warn', 'info']);
    const texts = book.lines.map(([, text]) => text);
    expect(texts[1]).to.match(
      new RegExp(`^Session ${id} is lost: no server has answered for .*; last: .*\\. It held no lock`),
    );
    expect(texts[2]).to.equal(`Session ${id} has ended: the servers say that it has expired. It held no lock`);
    expect(texts[3]).to.contain('again after').and.to.contain('in the new session');
  });

  it('gives the cause for each of several servers', async () => {
    await using client = await LockClient.connect(`${lab.proxy.connectString},127.0.0.1:1`, {
      sessionTimeoutMs: 4_000,
      logger: book,
    });
    const lost = reached(client, 'lost');
    await lab.proxy.refuse();
    lab.proxy.cut();
    await lost;
    const text = book.lines.at(-1)?.[1];
    expect(text)
      .to.contain(`${lab.proxy.connectString}: connect ECONNREFUSED`)
      .and.to.contain('127.0.0.1:1: connect ECONNREFUSED');
  });

  for (const [when, isAsked] of [
    ['the next timer runs', false],
    ['the application asks the hold', true],
  ] as const)
    it(`asks whether this process was blocked, if it was, when ${when}`, async () => {
      const client = await connect(1_000);
      const hold = await new InterProcessMutex(client, lab.path).acquire();
      const told = aborted(hold.signal);
      const reconnected = reached(client, 'reconnected');
      lab.stall(2_000);
      if (isAsked) expect(hold.isValid).to.equal(false);
      await told;
      await reconnected;
      await until('the end is logged', () => book.lines.some(([, text]) => text.includes(' again after ')));
      expect(book.lines.filter(([level]) => level === 'error').map(([, text]) => text))
        .to.have.property('0')
        .that.matches(
          / is lost: its deadline has passed, and this process read nothing for [1-9]\.\d s \(was it stopped, or its event loop blocked\?\)\. The lock that it held is lost$/,
        );
      const texts = book.lines.map(([, text]) => text).join('\n');
      expect(texts)
        .to.match(/ again after [1-9]\.\d s, in the new session/)
        .and.not.to.contain('no server has answered');
    });

  it('does not count the turn of a semaphore that waits', async () => {
    const other = await lab.connect({}, lab.connectString);
    await using _lease = await new InterProcessSemaphore(other, lab.path, { maxLeases: 1 }).acquire();
    const client = await connect(3_000);
    const controller = new AbortController();
    const waiting = rejection(
      new InterProcessSemaphore(client, lab.path, { maxLeases: 1 }).acquire({ signal: controller.signal }),
    );
    await until('the semaphore has its turn', () => client.session.holdings.size === 1);
    const lost = reached(client, 'lost');
    lab.proxy.silence();
    await lost;
    expect(book.levels).to.deep.equal(['warn', 'warn']);
    const [suspended, ended] = book.lines.map(([, text]) => text);
    expect(suspended).to.match(/ is suspended; it holds no lock$/);
    expect(ended).to.match(/\. It held no lock$/);
    lab.proxy.speak();
    controller.abort();
    await waiting;
  });

  it('counts all lost locks, also those that their listeners release', async () => {
    const client = await connect(10_000);
    for (const name of ['a', 'b', 'c']) {
      const hold = await new InterProcessMutex(client, `${lab.path}-${name}`).acquire();
      hold.signal.addEventListener('abort', () => void hold.release());
    }
    await expire(client);
    expect(book.lines.find(([level]) => level === 'error')?.[1]).to.match(
      / has ended: the servers say that it has expired\. All 3 locks that it held are lost$/,
    );
  });

  for (const [askedMs, grantedMs] of [
    [90_000, 60_000],
    [500, 1_000],
  ] as const)
    it(`says once that ${grantedMs} ms were granted if ${askedMs} ms were requested`, async () => {
      const client = await connect(askedMs);
      expect(client.sessionTimeoutMs).to.equal(grantedMs);
      const reconnected = reached(client, 'reconnected');
      lab.proxy.cut();
      await reconnected;
      const lines = book.lines.filter(([, text]) => text.includes('sessionTimeoutMs'));
      expect(lines.map(([level]) => level)).to.deep.equal(['warn']);
      expect(lines[0]?.[1]).to.contain(`granted a session timeout of ${grantedMs} ms, but ${askedMs} ms was requested`);
    });

  it('says nothing about a timeout that was granted as requested, or about a client that is closed', async () => {
    const client = await connect(5_000);
    await client.close();
    expect(book.lines).to.deep.equal([]);
  });

  it('goes to `warn` if the logger has no other method', async () => {
    const texts: string[] = [];
    const client = await lab.connect({ logger: { warn: (_details, message) => void texts.push(message) } });
    await expire(client);
    await until('the end is logged', () => texts.length >= 3);
    expect(texts).to.have.length(3);
    expect(texts[0]).to.contain('is suspended');
    expect(texts[1]).to.contain('has ended');
    expect(texts[2]).to.contain('Connected to');
  });

  describe('works with', () => {
    let output: string;
    let sink: Writable;

    beforeEach(() => {
      output = '';
      sink = new Writable({ write: (chunk: Buffer, _encoding, done) => ((output += chunk.toString()), done()) });
    });

    const loggers: [string, () => Logger, Readonly<Record<Level, string>>][] = [
      ['console', () => new Console(sink, sink), { info: '', warn: '', error: '' }],
      ['pino', () => pino(sink), { info: '"level":30', warn: '"level":40', error: '"level":50' }],
      [
        'winston',
        () => winston.createLogger({ transports: [new winston.transports.Stream({ stream: sink })] }),
        { info: '"level":"info"', warn: '"level":"warn"', error: '"level":"error"' },
      ],
    ];
    for (const [name, make, marks] of loggers)
      it(name, async () => {
        const client = await lab.connect({ sessionTimeoutMs: 10_000, logger: make() });
        const hold = await new InterProcessMutex(client, lab.path).acquire();
        await expire(client);
        await hold.release();
        await until('the end is logged', () => output.includes(' again after '));
        client.host.report.warn('Something else went wrong', new Error('for this reason'));
        await until('the last line is written', () => output.includes('Something else'));
        const lineWith = (text: string): string => output.split('\n').find((line) => line.includes(text)) ?? '';
        expect(lineWith('is suspended'))
          .to.contain(`lost: ${lab.proxy.connectString} closed the connection`)
          .and.to.contain(marks.warn);
        expect(lineWith('has ended')).to.contain('The lock that it held is lost').and.to.contain(marks.error);
        expect(lineWith('Connected to')).to.contain('again after').and.to.contain(marks.info);
        expect(lineWith('Something else went wrong'))
          .to.contain('went wrong: for this reason')
          .and.to.contain(marks.warn);
        // The text contains the error once: it must not be appended a second time.
        const line = lineWith('Something else went wrong');
        const [, text = line] = /"msg":"([^"]*)"/.exec(line) ?? [];
        expect(text.split('for this reason')).to.have.length(2);
      });
  });
});
