import { Console } from 'node:console';
import { Writable } from 'node:stream';
import { inspect } from 'node:util';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { pino } from 'pino';
import winston from 'winston';
import type { Logger } from '../../src/index.ts';
import { checkedLog, type LogLevel } from '../../src/client/options/logger.ts';
import { secretsOf } from '../../src/client/options/redaction.ts';

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];
const details = { err: new Error('for this reason'), sessionId: '0x17', held: 2 };

/** The lines of a logger that writes to a stream. */
function written(make: (sink: Writable) => object): { logger: Logger; lines: () => string[] } {
  let output = '';
  const sink = new Writable({ write: (chunk: Buffer, _encoding, done) => ((output += chunk.toString()), done()) });
  return { logger: make(sink) as Logger, lines: () => output.trim().split('\n') };
}

describe('a logger', () => {
  it('of the application gets the object first, then the text, on each level', () => {
    const got: unknown[] = [];
    const method = (level: LogLevel) => (object: unknown, text: string) => got.push([level, object, text]);
    const logger = { debug: method('debug'), info: method('info'), warn: method('warn'), error: method('error') };
    const log = checkedLog(logger);
    for (const level of levels) log[level]('a line', details);
    log.warn('another line');
    expect(got).to.deep.equal([...levels.map((level) => [level, details, 'a line']), ['warn', {}, 'another line']]);
  });

  it('that has only `warn` gets all lines but those of the level debug', () => {
    const got: string[] = [];
    const log = checkedLog({ warn: (_details, message) => got.push(message) });
    for (const level of levels) log[level](level);
    expect(got).to.deep.equal(['info', 'warn', 'error']);
  });

  it('that is pino writes the error with its stack, and the fields', () => {
    const { logger, lines } = written((sink) => pino({ level: 'debug' }, sink));
    for (const level of levels) checkedLog(logger)[level]('a line', details);
    const [, , warning] = lines().map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(warning).to.include({ level: 40, msg: 'a line', sessionId: '0x17', held: 2 });
    expect(warning?.['err']).to.include({ type: 'Error', message: 'for this reason', stack: details.err.stack });
    expect(lines()).to.have.length(4);
  });

  it('that is winston writes the text as its message, and the fields', () => {
    const { logger, lines } = written((stream) => {
      return winston.createLogger({ level: 'debug', transports: [new winston.transports.Stream({ stream })] });
    });
    const child = (logger as unknown as winston.Logger).child({ of: 'orders' }) as unknown as Logger;
    for (const level of levels) checkedLog(logger)[level]('a line', details);
    checkedLog(child).warn('of a child');
    const [debug, , , error, ofChild] = lines().map((line) => JSON.parse(line) as object);
    expect(debug).to.include({ level: 'debug', message: 'a line', sessionId: '0x17', held: 2 });
    expect(error).to.include({ level: 'error', message: 'a line' });
    expect(ofChild).to.include({ level: 'warn', message: 'of a child', of: 'orders' });
  });

  it('that is a console writes the text, and behind it the object', () => {
    const { logger, lines } = written((sink) => new Console(sink, sink));
    checkedLog(logger).warn('a line', { sessionId: '0x17' });
    checkedLog(logger).info('without an object');
    expect(lines()).to.deep.equal(["a line { sessionId: '0x17' }", 'without an object']);
  });
});

describe('what a logger gets', () => {
  const secrets = secretsOf([{ scheme: 'digest', credentials: 'orders:open-sesame' }]);
  const got: { details: { err?: unknown }; message: string }[] = [];
  const log = checkedLog({ warn: (object, message) => got.push({ details: object, message }) }, secrets);

  beforeEach(() => void got.splice(0));

  it('has no password in its text, its fields or its errors', () => {
    const err = Object.assign(new TypeError('no such key: open-sesame'), { code: 'ENOKEY' });
    log.warn('refused orders:open-sesame', { err, path: '/locks/open-sesame' });
    const [line] = got;
    expect(line?.message).to.equal('refused [redacted]');
    expect(line?.details).to.include({ path: '/locks/[redacted]' });
    const safe = line?.details.err as Error;
    expect(safe).to.include({ name: 'TypeError', code: 'ENOKEY', message: 'no such key: [redacted]' });
    expect(safe.stack).to.contain('[redacted]').and.not.to.contain('open-sesame');
  });

  it('has no password in the cause of an error', () => {
    log.warn('refused', { err: new Error('outer', { cause: new Error('open-sesame') }) });
    const [{ details }] = got as [(typeof got)[number]];
    expect((details.err as Error).cause).to.equal(undefined);
  });

  it('has no password in what an error carries', () => {
    const carriers = [
      Object.assign(new Error('outer'), { options: { account: { password: 'open-sesame' } } }),
      new AggregateError([new Error('open-sesame')], 'outer'),
      runInNewContext("new Error('outer: open-sesame')") as Error,
      new Error('outer', { cause: { password: 'open-sesame' } }),
      new Error('outer', { cause: new Error('middle', { cause: new Error('open-sesame') }) }),
    ];
    for (const err of carriers) {
      log.warn('refused', { err });
      expect(inspect(got.at(-1)?.details.err, { depth: 10 }))
        .to.contain('outer')
        .and.not.to.contain('open-sesame');
    }
  });

  it('is otherwise the same object', () => {
    const err = new Error('the connection was reset');
    log.warn('refused', { err });
    expect(got[0]?.details.err).to.equal(err);
  });

  it('has no password in what an error carries and does not show by `inspect`, whose function is not called', () => {
    const request = { password: 'open-sesame', [inspect.custom]: () => expect.fail('called') };
    log.warn('refused', { err: Object.assign(new Error('refused'), { request }) });
    expect(got[0]?.details.err).to.not.have.property('request');
  });

  it('keeps words that a very short password would be a part of', () => {
    expect(secretsOf([{ scheme: 'digest', credentials: 'orders:a' }])).to.deep.equal(['orders:a']);
    expect(secretsOf([{ scheme: 'other', credentials: '' }])).to.deep.equal([]);
    expect(secretsOf([], { username: 'orders', password: 'a' })).to.deep.equal(['orders:a']);
    expect(secretsOf([], { username: 'orders', password: 'open' })).to.deep.equal(['orders:open', 'open']);
  });
});
