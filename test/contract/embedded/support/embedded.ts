import { EmbeddedZooKeeper, type EmbeddedZooKeeperOptions } from '../../../../packages/testing/src/index.ts';

export interface EmbeddedLab {
  /** A new server for each test. */
  readonly zk: EmbeddedZooKeeper;
  /** Starts another server, with further options besides the suite's. */
  start(options: EmbeddedZooKeeperOptions): Promise<EmbeddedZooKeeper>;
}

export function embeddedOfEachTest(options: EmbeddedZooKeeperOptions = {}): EmbeddedLab {
  const lab = {
    zk: undefined as unknown as EmbeddedZooKeeper,
    start: (more: EmbeddedZooKeeperOptions) => EmbeddedZooKeeper.start({ ...options, ...more }),
  };
  beforeEach(async () => void (lab.zk = await EmbeddedZooKeeper.start(options)));
  afterEach(() => lab.zk.stop());
  return lab;
}
