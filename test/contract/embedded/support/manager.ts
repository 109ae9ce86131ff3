import { JuteReader } from '../../../../src/testing/jute.ts';
import { encode, type Request } from './request.ts';
import { WireConnection } from './wire-connection.ts';

/** The real server's super user, who may delete znodes that a sequence has protected by an ACL. */
export const superUser = 'super:secret';

/** Empties the server before and after a sequence. */
export class Manager {
  readonly #connection: WireConnection;
  #xid = 0;

  static async connect(port: number): Promise<Manager> {
    const connection = new WireConnection(port);
    await connection.handshake(40_000);
    const manager = new Manager(connection);
    await manager.#request({ op: 'auth', scheme: 'digest', credentials: superUser });
    return manager;
  }

  private constructor(connection: WireConnection) {
    this.#connection = connection;
  }

  async rootStat(): Promise<{ zxid: number; childVersion: number }> {
    const { zxid, reader } = await this.#request({ op: 'exists', path: '/', watch: false });
    for (let left = 4; left > 0; left -= 1) reader.long();
    reader.int();
    return { zxid, childVersion: reader.int() };
  }

  async create(path: string): Promise<void> {
    await this.#request({
      op: 'create',
      path,
      data: '',
      acl: [{ perms: 31, scheme: 'world', id: 'anyone' }],
      flags: 0,
      ttl: -1,
    });
  }

  async clear(): Promise<void> {
    const { reader } = await this.#request({ op: 'getChildren', path: '/', watch: false });
    for (const name of reader.texts() ?? []) if (name !== 'zookeeper' && name !== null) await this.#delete(`/${name}`);
  }

  async close(): Promise<void> {
    await this.#request({ op: 'closeSession' });
    await this.#connection.close();
  }

  async #delete(path: string): Promise<void> {
    const { error, reader } = await this.#request({ op: 'getChildren', path, watch: false });
    if (error !== 0) return;
    for (const name of reader.texts() ?? []) await this.#delete(`${path}/${name ?? ''}`);
    await this.#request({ op: 'delete', path, version: -1 });
  }

  async #request(request: Request): Promise<{ zxid: number; error: number; reader: JuteReader }> {
    const xid = ++this.#xid;
    this.#connection.write(encode(xid, request, 0));
    await this.#connection.until(() => this.#connection.hasAnswer(xid));
    const frame = this.#connection.frames.pop() ?? Buffer.alloc(16);
    const reader = new JuteReader(frame, frame.length);
    reader.int();
    return { zxid: Number(reader.long()), error: reader.int(), reader };
  }
}
