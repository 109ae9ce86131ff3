import type { WriteStream } from 'node:tty';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { Screen } from '../../demo/screen.ts';

function screenOn(terminal: { isTTY: boolean; columns?: number }) {
  const out = new PassThrough({ encoding: 'utf8' });
  const screen = new Screen(Object.assign(out, terminal) as unknown as WriteStream);
  return { screen, out, written: () => String(out.read() ?? '') };
}

describe("the demo's screen", () => {
  it('writes plain lines and no status without a terminal', () => {
    const { screen, written } = screenOn({ isTTY: false });
    screen.status('holds: nobody');
    screen.print('one');
    screen.print('two');
    expect(written()).to.equal('one\ntwo\n');
  });

  it('keeps the status below the lines of a terminal, and clears it at the end', () => {
    const { screen, written } = screenOn({ isTTY: true, columns: 80 });
    screen.print('one');
    screen.status('busy');
    screen.print('two');
    screen.status('');
    screen.print('three');
    const clear = '\r\u001b[2K';
    expect(written()).to.equal(`one\n${clear}busy${clear}two\nbusy${clear}three\n`);
  });

  it('cuts a status that would wrap', () => {
    const { screen, written } = screenOn({ isTTY: true, columns: 6 });
    screen.status('abcdefgh');
    expect(written()).to.equal('\r\u001b[2Kabcd…');
  });

  it('continues after its reader has gone away', async () => {
    const { screen, out } = screenOn({ isTTY: false });
    const closed = new Promise((resolve) => out.once('close', resolve));
    out.destroy(new Error('EPIPE'));
    await closed;
    expect(() => screen.print('one')).not.to.throw();
  });
});
