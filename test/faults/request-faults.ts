import { withFlippedBit } from '../../lab/proxy/flipped-bit.ts';
import { sleep } from '../../lab/world.ts';
import { sessionTimeoutMs } from './case-run.ts';
import { longMs, never, shortMs, type Fault, type FrameFact } from './fault.ts';
import type { FrameKey } from './frame-key.ts';

/** ZooKeeper's THROTTLED_OP: not executed, please try again. */
const throttled = -127;
/** The client does not send the request for this time, because it has learned that the server ends connections on it. */
const untriedMs = 10_000;

/** Trouble that a server, or a balancer before it, has with one kind of request, or with new connections. */
export const requestFaults: readonly Fault[] = [
  { name: 'throttled', lastsMs: 0, excludes: whereNoRequest, strike: () => ({ refuse: throttled }) },
  {
    name: 'throttled, each time for a while',
    lastsMs: shortMs,
    excludes: whereNoRequest,
    strike: ({ op }, run) => {
      const stop = run.wire.proxy.on((frame) =>
        frame.from === 'client' && frame.op === op ? { refuse: throttled } : undefined,
      );
      void run.heals(sleep(shortMs).then(stop));
      return { refuse: throttled };
    },
  },
  {
    name: 'kills its connection, each time',
    lastsMs: longMs + untriedMs,
    refuses: true,
    excludes: whereNoRequest,
    strike: ({ op }, run) => {
      const stop = run.wire.proxy.on((frame) => (frame.from === 'client' && frame.op === op ? 'cut' : undefined));
      void run.heals(
        sleep(longMs).then(() => {
          stop();
          return sleep(untriedMs);
        }),
      );
      return 'cut';
    },
  },
  flipped('one bit of a uuid is flipped', /_c_\D*(?=\d)/),
  flipped(
    'one bit of a sequence number is flipped',
    /-\d{9}(?=\d)/,
    ({ key }) => key.from === 'client' && key.op === 'create2',
  ),
  ...(['refused', 'swallowed', 'closed'] as const).map((newcomers): Fault => ({
    name: `new connections are ${newcomers} from here on`,
    lastsMs: 2 * sessionTimeoutMs,
    excludes: never,
    strike: (_frame, run) => {
      const { proxy } = run.wire;
      void proxy.admit(newcomers);
      void run.heals(sleep(2 * sessionTimeoutMs).then(() => proxy.admit('served')));
      return 'pass';
    },
  })),
];

/** The bit makes another digit of the digit behind the match, so the name stays one of this kind of lock. */
function flipped(name: string, before: RegExp, isWithout: (fact: FrameFact) => boolean = () => false): Fault {
  return {
    name,
    lastsMs: 0,
    refuses: true,
    excludes: (fact) => {
      if (!changesOwn.has(fact.key.op)) return 'the tests of single answers look at it';
      return isWithout(fact) ? 'it has none' : undefined;
    },
    strike: (frame) => {
      const found = before.exec(frame.body.toString('latin1'));
      return found ? { replaceWith: withFlippedBit(frame, found.index + found[0].length, 0) } : 'pass';
    },
  };
}

/** The requests that create, delete or hand over a znode of the client. */
const changesOwn: ReadonlySet<FrameKey['op']> = new Set(['create2', 'delete', 'handOver', 'downgrade']);

function whereNoRequest({ key }: FrameFact): string | undefined {
  if (key.from === 'server') return 'it is no request';
  return ['connect', 'ping', 'auth', 'closeSession'].includes(key.op)
    ? 'no server throttles it, or is without it'
    : undefined;
}
