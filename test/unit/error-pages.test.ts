import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { AuthFailedError, ClientClosedError, SessionExpiredError } from '../../src/client/report/client-errors.ts';
import {
  DeadlockError,
  ForeignNodeError,
  OutcomeUnknownError,
  SequenceOverflowError,
} from '../../src/internals/lock-errors.ts';
import { SessionFullError } from '../../src/internals/znode/session-full-error.ts';
import { LockLostError, type LossReason } from '../../src/client/report/lock-lost-error.ts';
import { errorNumbers } from '../../src/zookeeper/wire/zookeeper-error.ts';
import { LockTimeoutError } from '../../src/client/report/lock-timeout-error.ts';
import type { KnownAtTimeout } from '../../src/client/report/timeout-text.ts';
import { ZooKeeperError } from '../../src/zookeeper/wire/zookeeper-error.ts';
import { SaslRefusal } from '../../src/zookeeper/wire/sasl-handshake.ts';
import { TlsError } from '../../src/zookeeper/network/tls-error.ts';
import { ForeignDataError } from '../../src/weighted/foreign-data-error.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const page = read('docs/errors.md');

describe('docs/errors.md', () => {
  it('has a heading for each error code of src, and no heading for another one', () => {
    const codes = sources().flatMap((source) => [...source.matchAll(/'(ERR_LOCK_[A-Z_]+)'/g)].map(([, code]) => code));
    expect(sectionsOf('Error codes').filter(({ level }) => level === 3)).to.have.lengthOf.above(10);
    expect(namesOf('Error codes', 3)).to.deep.equal([...new Set(codes)].sort());
  });

  it('has a heading for each reason of a loss, and no heading for another one', () => {
    expect(namesOf('Reasons for a lost lock', 3)).to.deep.equal(
      union('src/client/report/lock-lost-error.ts', 'LossReason'),
    );
  });

  it('has a heading for each reason of a timeout, and no heading for another one', () => {
    expect(namesOf('Error codes', 4)).to.deep.equal(union('src/client/report/timeout-text.ts', 'TimeoutReason'));
  });

  it("has headings of ZooKeeper's codes only as ZooKeeperError spells them, with the same numbers", () => {
    const known: Partial<Record<string, number>> = errorNumbers;
    const shown = sectionsOf('ZooKeeper codes');
    expect(shown).to.have.lengthOf.above(5);
    for (const { name, text } of shown) expect(text, name).to.contain(`**Number:** −${-(known[name] ?? 0)}\n`);
  });

  it('says in each section what it means, and shows a message of each code and each reason of a loss', () => {
    for (const { name, text } of [...sectionsOf('Error codes'), ...sectionsOf('Reasons for a lost lock')]) {
      expect(text, name).to.match(/\*\*(Meaning|Cause):\*\*/);
      expect(text, name).to.match(/\n```\n\S/);
    }
  });

  it('shows messages as the code makes them', () => {
    const shown = new Set([...page.matchAll(/\n```\n(.+)\n```/g)].map(([, message = '']) => anonymous(message)));
    const missing = messages().filter(({ message }) => !shown.has(anonymous(message)));
    expect(missing.map(({ name, message }) => `${name}: ${message}`)).to.deep.equal([]);
  });

  it('names the class of each code', () => {
    const classes = sources().join('\n');
    for (const { name, text, level } of sectionsOf('Error codes')) {
      if (level !== 3) continue;
      const [, className = 'none'] = /\*\*Class:\*\* `(\w+)`/.exec(text) ?? [];
      const definition = classes.slice(classes.indexOf(`class ${className} extends LockError`));
      expect(definition.indexOf(`'${name}'`), `${name} in ${className}`).to.be.within(0, 2_500);
    }
  });
});

/** The errors that need no server. */
function messages(): Error[] {
  const path = '/locks/orders/42';
  const timedOut = (known: KnownAtTimeout): Error => new LockTimeoutError(path, 200, 'acquired', known);
  const here = { path: `${path}/${znode}`, sessionId: '0x1', host: 'vm', pid: 1, queuedSince: undefined };
  const holder = { ...here, heldSince: new Date() };
  const losses = ['session-deadline', 'session-expired', 'node-deleted', 'forced', 'client-closed'] as const;
  return [
    timedOut({
      reason: 'contention',
      position: 1,
      holder: { ...here, host: 'worker-3', pid: 4711, heldSince: undefined, queuedSince: new Date() },
    }),
    timedOut({ reason: 'contention', position: 3, holder }),
    timedOut({ reason: 'not-read' }),
    timedOut({ reason: 'not-proven' }),
    timedOut({ reason: 'no-answer', silence: { forMs: 1_234, why: 'connect ECONNREFUSED 127.0.0.1:2181' } }),
    timedOut({ reason: 'held-by-this-process', position: 1, holder }),
    timedOut({ reason: 'held-by-this-flow', inFlow: 'the same', holder }),
    new LockTimeoutError('/locks/catalogue', 200, 'acquired', {
      reason: 'held-by-this-flow',
      inFlow: 'an upgrade',
      holder,
    }),
    ...losses.map((reason: LossReason) => new LockLostError(`${path}/${znode}`, reason)),
    new SessionExpiredError('0xa203cd7e660001'),
    new DeadlockError(path),
    new DeadlockError('/locks/catalogue', 'an upgrade'),
    new ClientClosedError(`the lock ${path} cannot be acquired`),
    new AuthFailedError('127.0.0.1:2181', ['digst']),
    new AuthFailedError('127.0.0.1:2181', [], new SaslRefusal('account')),
    new TlsError('zk1:2281', 'unknown-authority', { code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE' }),
    new ForeignNodeError('/locks/a', ['b']),
    new ForeignDataError('/locks/weighted', Buffer.from('my own data')),
    new OutcomeUnknownError(`${path}/${znode}`, ['/config'], new ZooKeeperError(-4, 'multi', '/config')),
    new SequenceOverflowError(path, '_c_0b7e49a2-4c7e-4a53-9d0d-6f1d2f1a9c11-lock--2147483648'),
    new SessionFullError(path, 26_315, 1_999_940),
  ];
}

const znode = '_c_24fbea0a-aed6-4c73-9226-c5d2af4d6939-lock-0000000002';

/** Without what differs from run to run. */
function anonymous(message: string): string {
  return message
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uuid>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/0x[0-9a-f]+/g, '<session>')
    .replaceAll(/\d+(\.\d+)?/g, '<number>');
}

interface Section {
  readonly name: string;
  readonly level: number;
  readonly text: string;
}

/** The parts of a chapter whose headings are a word in backticks, so that their anchors are that word. */
function sectionsOf(chapter: string): Section[] {
  const start = page.indexOf(`\n## ${chapter}\n`);
  expect(start, chapter).to.be.above(0);
  const end = page.indexOf('\n## ', start + 1);
  const headings = [...page.slice(start, end < 0 ? undefined : end).matchAll(/^(###+) (.+)$/gm)];
  return headings.map((heading, index) => {
    const [line, marks = '', title = ''] = heading;
    expect(title).to.match(/^`[\w-]+`$/);
    const from = start + heading.index + line.length;
    const next = headings.slice(index + 1).find(([, others = '']) => others.length <= marks.length);
    const to = next === undefined ? end : start + next.index;
    return { name: title.slice(1, -1), level: marks.length, text: page.slice(from, to < 0 ? undefined : to) };
  });
}

function namesOf(chapter: string, level: number): string[] {
  return sectionsOf(chapter)
    .filter((section) => section.level === level)
    .map(({ name }) => name)
    .sort();
}

/** The members of a type that is a union of texts. */
function union(file: string, type: string): string[] {
  const [, members = ''] = new RegExp(`export type ${type} =([^;]+);`).exec(read(file)) ?? [];
  const names = [...members.matchAll(/'([\w-]+)'/g)].map(([, name = '']) => name);
  expect(names, type).to.have.lengthOf.above(1);
  return names.sort();
}

function sources(): string[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => read(join('src', file)));
}
