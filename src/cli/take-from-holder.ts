import type { LockClient } from '../client/lock-client.js';
import { connect, type connectionOptions } from './connection.js';
import { exitCodes } from './exit-code.js';
import { holderOf } from './holder-of.js';
import type { Io } from './io.js';
import type { Arguments } from './verb.js';

type AskOptions = typeof connectionOptions & { readonly json: { readonly kind: 'flag'; readonly summary: string } };
type TakeOptions = AskOptions & {
  readonly wait: { readonly kind: 'seconds'; readonly value: string; readonly summary: string };
};

/** The verb `revoke`. Resolves with the exit code. */
export function askHolder(args: Arguments<AskOptions>, io: Io): Promise<number> {
  return withHolder(args, io, async (client, znode) => {
    const { revoke } = await import('../revocation/revocation.js');
    await revoke(client, znode);
    return 'asked';
  });
}

/** The verb `release`. Resolves with the exit code. */
export function takeFromHolder(args: Arguments<TakeOptions>, io: Io): Promise<number> {
  return withHolder(args, io, async (client, znode) => {
    const { forceRelease } = await import('../revocation/revocation.js');
    return forceRelease(client, znode, { timeoutMs: args.options.wait });
  });
}

/** `free`: nobody held the lock. */
type Done = 'asked' | 'released' | 'deleted' | 'free';

async function withHolder(
  args: Arguments<AskOptions>,
  io: Io,
  act: (client: LockClient, znode: string) => Promise<Done>,
): Promise<number> {
  const [path = ''] = args.operands;
  await using client = await connect(args, io);
  const znode = await holderOf(client, path);
  const done = znode === undefined ? 'free' : await act(client, znode);
  if (args.options.json) io.stdout.write(`${JSON.stringify({ path, znode, done })}\n`);
  else if (znode !== undefined) io.stdout.write(`${done} ${znode}\n`);
  return exitCodes.success;
}
