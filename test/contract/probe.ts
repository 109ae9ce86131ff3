import { startRealServer, type ServerOptions, type ZooKeeperServer } from '../../lab/servers/zookeeper-server.ts';
import { testPath } from '../../lab/test-path.ts';
import { until } from '../../lab/until.ts';
import { ConnectionProbe, type ProbeOptions } from '../../lab/wire/connection-probe.ts';
import { openAcl, createPersistent, type Operation } from '../../src/zookeeper/wire/operations.ts';
import { ZooKeeperError } from '../../src/zookeeper/wire/zookeeper-error.ts';

/** A connection of the library to a real server, for requests one by one. Both are new for each suite or test. */
export interface ProbeLab<Server = ZooKeeperServer> {
  readonly server: Server;
  /** Belongs to this test. */
  readonly probe: ConnectionProbe;
  /** A persistent znode of this test. */
  readonly path: string;
  /** Opens another connection, with a session of its own. It ends with the test. */
  connect(options?: ProbeOptions): Promise<ConnectionProbe>;
  ask<T>(operation: Operation<T>, probe?: ConnectionProbe): Promise<T>;
  /** The code of the error with which the server answers, or 'done'. */
  codeOf(operation: Operation<unknown>, probe?: ConnectionProbe): Promise<string>;
  /** Resolves when the probe has got this many watch events in all. */
  fired(count: number, probe?: ConnectionProbe): Promise<ConnectionProbe['fired']>;
}

export function probeOfEachTest(options: ServerOptions = {}): ProbeLab {
  return probeOf(() => startRealServer(options));
}

/** As `probeOfEachTest`, to a server that `start` starts. */
export function probeOf<Server extends ProbedServer>(start: () => Promise<Server>): ProbeLab<Server> {
  let probes: ConnectionProbe[] = [];
  const connect = async (more: ProbeOptions = {}): Promise<ConnectionProbe> => {
    const probe = await ConnectionProbe.connect([lab.server.port], { sessionTimeoutMs: 20_000, ...more });
    probes.push(probe);
    return probe;
  };
  const ask = <T>(operation: Operation<T>, probe: ConnectionProbe = lab.probe): Promise<T> =>
    probe.send(operation).then(({ value }) => value);
  const lab: { -readonly [Key in keyof ProbeLab]: ProbeLab<Server>[Key] } = {
    server: undefined as unknown as Server,
    probe: undefined as unknown as ConnectionProbe,
    path: '',
    connect,
    ask,
    codeOf: (operation: Operation<unknown>, probe?: ConnectionProbe): Promise<string> =>
      ask(operation, probe).then(
        () => 'done',
        (error: unknown) => {
          if (error instanceof ZooKeeperError) return error.code;
          throw error;
        },
      ),
    fired: async (count: number, probe = lab.probe) => {
      await until(`${count} watch events`, () => probe.fired.length >= count);
      return probe.fired;
    },
  };
  before(async () => (lab.server = await start()));
  beforeEach(async () => {
    lab.path = testPath('').slice(0, -1);
    lab.probe = await connect();
    await ask(createPersistent(lab.path, openAcl));
  });
  afterEach(() => {
    for (const probe of probes) probe[Symbol.dispose]();
    probes = [];
  });
  after(() => lab.server.stop());
  return lab;
}

interface ProbedServer {
  readonly port: number;
  stop(): Promise<void>;
}
