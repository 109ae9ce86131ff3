import type { RecordReader } from '../../../../lab/wire/record.ts';
import { WireClient, type Transport } from '../../../../lab/wire/wire-client.ts';

/** The real server's super user, who may delete znodes that a sequence has protected by an ACL. */
export const superUser = 'super:secret';

/** Empties the server before and after a sequence. */
export class Manager {
  readonly #client: WireClient;

  static async connect(server: Transport): Promise<Manager> {
    const client = await new WireClient(server).connect(40_000).opened();
    await client.request({ op: 'auth', scheme: 'digest', credentials: superUser });
    return new Manager(client);
  }

  private constructor(client: WireClient) {
    this.#client = client;
  }

  async rootStat(): Promise<{ zxid: number; childVersion: number }> {
    const answer = await this.#client.request({ op: 'exists', path: '/' });
    const stat = answer.record();
    for (let left = 4; left > 0; left -= 1) stat.long();
    stat.int();
    return { zxid: answer.zxid, childVersion: stat.int() };
  }

  async create(path: string): Promise<void> {
    await this.#client.request({ op: 'create', path });
  }

  async clear(): Promise<void> {
    for (const name of await this.#children('/')) if (name !== 'zookeeper') await this.#delete(`/${name}`);
  }

  async close(): Promise<void> {
    await this.#client.request({ op: 'closeSession' });
    this.#client[Symbol.dispose]();
  }

  async #delete(path: string): Promise<void> {
    for (const name of await this.#children(path)) await this.#delete(`${path}/${name}`);
    await this.#client.request({ op: 'delete', path });
  }

  async #children(path: string): Promise<string[]> {
    const answer = await this.#client.request({ op: 'getChildren', path });
    const names: ReturnType<RecordReader['texts']> = answer.error === 0 ? answer.record().texts() : [];
    return (names ?? []) as string[];
  }
}
