import type { LockClient } from '../../../src/index.ts';
import { exists as existsOperation, type Operation } from '../../../src/zookeeper/wire/operations.ts';

/** Gives the world these permissions on a znode. */
export function setAcl(client: LockClient, path: string, permissions: number): Promise<unknown> {
  const operation: Operation<void> = {
    name: 'setACL',
    opcode: 7,
    kind: 'write',
    path,
    write: (to) => to.text(path).int(1).int(permissions).text('world').text('anyone').int(-1),
    read: () => undefined,
  };
  return client.session.request(operation);
}

export async function exists(client: LockClient, path: string): Promise<boolean> {
  return (await client.session.find(existsOperation(path))) !== undefined;
}
