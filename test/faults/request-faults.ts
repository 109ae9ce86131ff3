import { withFlippedBit } from '../../lab/proxy/flipped-bit.ts';
import { showPhantom } from '../../lab/proxy/phantom.ts';
import type { Frame, Op } from '../../lab/proxy/zk-proxy.ts';
import { sleep } from '../../lab/world.ts';
import { sessionTimeoutMs, type CaseRun } from './case-run.ts';
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
    twoMs: 2 * untriedMs,
    refuses: true,
    excludes: whereNoRequest,
    strike: ({ op }, run) => {
      // A second fault may end the connection on which it is tried again. Then it is not tried for twice as long.
      const pauseMs = run.longestWaitMs === Infinity ? untriedMs : 3 * untriedMs;
      const stop = run.wire.proxy.on((frame) => (frame.from === 'client' && frame.op === op ? 'cut' : undefined));
      void run.heals(
        sleep(longMs).then(() => {
          stop();
          return sleep(pauseMs);
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
  {
    name: 'the server goes on showing the znode that the event is about',
    // A question is due once in a session timeout.
    lastsMs: 3 * sessionTimeoutMs,
    excludes: ({ key }) => (key.op === 'watch' ? undefined : 'it is no event'),
    strike: ({ path = '', body }, run) => {
      const { proxy } = run.wire;
      const isStruck = body.readInt32BE(eventTypeAt) === deleted && isFirst(run);
      const wasRead = isStruck && proxy.frames.some(isAnswerTo('getData', path));
      if (wasRead) void run.heals(sleep(2 * sessionTimeoutMs).then(showPhantom(proxy, path)));
      return wasRead ? 'drop' : 'pass';
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

/** True if nothing stands before the client's last znode. Only the waiter that is next asks the quorum. */
function isFirst(run: CaseRun): boolean {
  const [folder = ''] = run.kind.folders;
  const numberOf = (path: string): number => Number(path.slice(-numberLength));
  const own = run.znode(folder, 'own');
  const all = run.servers.children(`${run.path}${folder}`);
  return own !== undefined && all.every(({ name }) => numberOf(name) >= numberOf(own));
}

const numberLength = 10;

/** The type of an event stands behind the header of its frame. */
const eventTypeAt = 16;
const deleted = 2;

/** The requests that create, delete or hand over a znode of the client. */
const changesOwn: ReadonlySet<FrameKey['op']> = new Set(['create2', 'delete', 'handOver', 'downgrade']);

function isAnswerTo(op: Op, path: string): (frame: Frame) => boolean {
  return (frame) => frame.from === 'server' && frame.op === op && frame.path === path && frame.err === 0;
}

function whereNoRequest({ key }: FrameFact): string | undefined {
  if (key.from === 'server') return 'it is no request';
  return ['connect', 'ping', 'auth', 'closeSession'].includes(key.op)
    ? 'no server throttles it, or is without it'
    : undefined;
}
