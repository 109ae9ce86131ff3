import { InterProcessMutex, LockClient, type Hold } from '../../../../src/index.ts';
import { EmbeddedZooKeeper } from '../../../testing/src/index.ts';

/** A ZooKeeper and a client of it, for the locks of one test file. */
export class Locks implements AsyncDisposable {
  readonly zk: EmbeddedZooKeeper;
  readonly client: LockClient;
  #number = 0;

  static async start(): Promise<Locks> {
    const zk = await EmbeddedZooKeeper.start({ tickTimeMs: 100 });
    return new Locks(zk, await LockClient.connect(zk.connectString, { sessionTimeoutMs: 2_000 }));
  }

  private constructor(zk: EmbeddedZooKeeper, client: LockClient) {
    this.zk = zk;
    this.client = client;
  }

  /** A hold of a lock that no other test uses. */
  hold(): Promise<Hold> {
    return new InterProcessMutex(this.client, `/locks/${this.#number++}`).acquire();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.zk.stop();
  }
}
