import { expect } from 'chai';
import { command } from '../../lab/servers/docker/command.ts';
import { rejection } from '../../lab/until.ts';

describe('a command of the Docker scripts', () => {
  it('may print anything if it succeeds', async () => {
    await command('sh', ['-c', 'echo noise; echo more >&2'], { limitMs: 10_000 });
  });

  it('rejects with its exit code and its output if it fails', async () => {
    const { message } = await rejection(command('sh', ['-c', 'echo the reason >&2; exit 3'], { limitMs: 10_000 }));
    expect(message)
      .to.contain('exit code 3\nthe reason')
      .and.to.match(/^sh -c /);
  });

  it('is killed if it takes too long, and rejects with the limit', async () => {
    const { message } = await rejection(command('sleep', ['60'], { limitMs: 50 }));
    expect(message).to.contain('sleep 60: it did not end within 50 ms');
  });

  it('rejects with its name if it does not exist', async () => {
    // Without a slash the command would be searched in PATH, and fail with EACCES if a folder there cannot be read.
    const { message } = await rejection(command('./no-such-command', [], { limitMs: 10_000 }));
    expect(message).to.contain('no-such-command').and.to.contain('ENOENT');
  });

  it('gets its own variables in addition to those of this process', async () => {
    await command('sh', ['-c', 'test "$COLOUR" = red && test -n "$PATH"'], { limitMs: 10_000, env: { COLOUR: 'red' } });
  });
});
