import { expect } from 'chai';
import { command } from '../../harness/docker/command.ts';
import { rejection } from '../../harness/until.ts';

describe('a command of the Docker scripts', () => {
  it('may say what it likes while it succeeds', async () => {
    await command('sh', ['-c', 'echo noise; echo more >&2'], { limitMs: 10_000 });
  });

  it('that fails is told with its exit code and what it said', async () => {
    const { message } = await rejection(command('sh', ['-c', 'echo the reason >&2; exit 3'], { limitMs: 10_000 }));
    expect(message)
      .to.contain('exit code 3\nthe reason')
      .and.to.match(/^sh -c /);
  });

  it('that takes too long is killed, and told so', async () => {
    const { message } = await rejection(command('sleep', ['60'], { limitMs: 50 }));
    expect(message).to.contain('sleep 60: it did not end within 50 ms');
  });

  it('that is not there is told so', async () => {
    // Without a slash it would be searched in PATH, and EACCES where a folder there cannot be read.
    const { message } = await rejection(command('./no-such-command', [], { limitMs: 10_000 }));
    expect(message).to.contain('no-such-command').and.to.contain('ENOENT');
  });

  it('finds its own variables besides those of this process', async () => {
    await command('sh', ['-c', 'test "$COLOUR" = red && test -n "$PATH"'], { limitMs: 10_000, env: { COLOUR: 'red' } });
  });
});
