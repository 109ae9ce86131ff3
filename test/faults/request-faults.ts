import { sleep } from '../../lab/world.ts';
import { sessionTimeoutMs } from './case-run.ts';
import { longMs, never, shortMs, type Fault, type FrameFact } from './fault.ts';

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

function whereNoRequest({ key }: FrameFact): string | undefined {
  if (key.from === 'server') return 'it is no request';
  return ['connect', 'ping', 'auth', 'closeSession'].includes(key.op)
    ? 'no server throttles it, or is without it'
    : undefined;
}
