import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { labOfEachTest } from '../../../lab/lab.ts';
import { InProcess } from './in-process.ts';

const page = readFileSync(new URL('../../../docs/zklock.md', import.meta.url), 'utf8');

/** The fields in the table below a heading of the page, sorted. */
function fieldsOf(heading: string): string[] {
  const [, section = ''] = page.split(`### ${heading}\n`);
  const [table = ''] = section.split(/^#{2,3} /m);
  const first = [...table.matchAll(/^\| (`[^|]*`) +\|/gm)].map(([, cell = '']) => cell);
  return first.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name)).sort();
}

type Fields = Readonly<Record<string, unknown>>;

describe('the page on the JSON of zklock', () => {
  const lab = labOfEachTest('described', { server: 'own' });
  const json = async (...words: string[]): Promise<Fields> => {
    const run = new InProcess(lab.connectString, words);
    await run.ended;
    return run.json as Fields;
  };
  const fields = (shown: unknown): string[] => Object.keys(shown as Fields).sort();

  it('names every field of ls and status, and no other', async () => {
    const hold = await lab.theirs.acquire({ data: 'owner' });
    const waiting = lab.mutex.acquire();
    await lab.queueReaches(2);
    const board = await json('ls', '--json', lab.path);
    const lock = await json('status', '--json', lab.path);
    expect(fields(board)).to.deep.equal(fieldsOf('A board'));
    for (const each of [lock, await json('status', '--json', `${lab.path}/none`), (board['locks'] as Fields[])[0]])
      expect(fields(each)).to.deep.equal(fieldsOf('A lock'));
    for (const each of [...(lock['holders'] as Fields[]), ...(lock['waiters'] as Fields[])])
      expect(fields(each)).to.deep.equal(fieldsOf('A participant'));
    await hold.release();
    await (await waiting).release();
  });

  it('names every field of an event of watch, and no other', async () => {
    const hold = await lab.theirs.acquire();
    const run = new InProcess(lab.connectString, ['watch', '--json', '/']);
    await run.until(() => run.out.includes(hold.path));
    await hold.release();
    const event = (): Fields | undefined => {
      const lines = run.out.split('\n').filter((line) => line !== '');
      return lines.map((line) => JSON.parse(line) as Fields).find(({ type }) => type === 'released');
    };
    await run.until(() => event() !== undefined);
    expect(fields(event())).to.deep.equal(fieldsOf('An event'));
    run.signal('SIGTERM');
    await run.ended;
  });

  it('names every field of check, and no other', async () => {
    const { findings } = (await json('check', '--json')) as { findings: Fields[] };
    const down = new InProcess('127.0.0.1:1', ['check', '--json', '--connect-timeout', '0.3']);
    await down.ended;
    const { findings: failed } = down.json as { findings: Fields[] };
    const named = new Set([...findings, ...failed].flatMap(fields));
    expect([...named].sort()).to.deep.equal(fieldsOf('The findings of check'));
  });
});
