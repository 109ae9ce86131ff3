import { connect } from 'node:net';
import { sleep } from '../../lab/world.ts';
import { Writer } from '../../src/zookeeper/wire/wire.ts';
import { sessionTimeoutMs, type CaseRun } from './case-run.ts';
import { never, type Fault } from './fault.ts';

const stallMs = sessionTimeoutMs * 1.5;

/** The faults of the client's own process and of its options, and a second connection to its session. */
export const processFaults: readonly Fault[] = [
  {
    name: 'its process stalls',
    lastsMs: stallMs,
    excludes: never,
    strike: (_frame, run) => {
      run.process.stall(stallMs);
      void run.heals(sleep(stallMs));
      return 'pass';
    },
  },
  {
    name: 'its machine crashes',
    lastsMs: sessionTimeoutMs,
    excludes: never,
    strike: (_frame, run) => {
      run.crash();
      return 'pass';
    },
  },
  {
    name: 'another connection attaches to its session',
    lastsMs: 0,
    excludes: ({ hasSession }) => (hasSession ? undefined : 'there is no session yet'),
    strike: (_frame, run) => {
      attachTwin(run);
      return 'pass';
    },
  },
  changed('its options are emptied', (options) => {
    for (const option of Object.keys(options)) Reflect.deleteProperty(options, option);
  }),
  changed('its options can no longer be read', (options) => {
    for (const option of ['timeoutMs', 'signal', 'leaseMs', 'renewEveryMs', 'releaseTimeoutMs', 'data', 'weight'])
      Object.defineProperty(options, option, { get: fail, configurable: true });
  }),
];

/** The caller changes the options of all calls so far, by mistake or because it uses the object again. */
function changed(name: string, change: (options: object) => void): Fault {
  return {
    name,
    lastsMs: 0,
    excludes: ({ hasOptions }) => (hasOptions ? undefined : 'no call has got options yet'),
    strike: (_frame, run) => {
      for (const options of run.options) change(options);
      return 'pass';
    },
  };
}

function fail(): never {
  throw new Error('The options were read after the call');
}

/**
 * As a ConnectRequest does that was delayed in the network until its client had given that connection up. It says nothing
 * more, and ends after the answer.
 */
function attachTwin({ wire, servers }: CaseRun): void {
  const { id, password } = wire.session ?? { id: 0n, password: Buffer.alloc(0) };
  const twin = connect({ host: '127.0.0.1', port: servers.ports[0] as number });
  twin.write(new Writer().int(0).long(0n).int(sessionTimeoutMs).long(id).bytes(password).frame());
  twin.on('data', () => twin.destroy()).on('error', () => undefined);
}
