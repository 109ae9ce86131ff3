import type { ZooKeeperServer } from '../servers/zookeeper-server.ts';

/** The server's newest transaction. The difference of two is the number of transactions between them. */
export async function zxidOf(server: ZooKeeperServer): Promise<bigint> {
  const zxid = /^Zxid: (0x[0-9a-f]+)$/m.exec(await server.command('srvr'))?.[1];
  if (zxid === undefined) throw new Error(`${server.connectString} did not say its zxid`);
  return BigInt(zxid);
}
