import { execFileSync } from 'node:child_process';
import type { ZooKeeperServer } from '../../lab/servers/zookeeper-server.ts';
import { zxidOf } from '../../lab/wire/zxid.ts';
import { mntrFigure } from '../services/figures.ts';

/** The work and the memory of a server now. */
export interface ServerCost {
  readonly connections: number;
  readonly znodes: number;
  readonly watches: number;
  /** The heap of live objects, after a full garbage collection. */
  readonly heapBytes: number;
  readonly snapshotBytes: number;
  /** Since the server began. */
  readonly transactions: number;
  readonly requests: number;
}

export async function costOf(server: ZooKeeperServer): Promise<ServerCost> {
  const answer = await server.command('mntr');
  return {
    connections: mntrFigure(answer, 'zk_num_alive_connections'),
    znodes: mntrFigure(answer, 'zk_znode_count'),
    watches: mntrFigure(answer, 'zk_watch_count'),
    snapshotBytes: mntrFigure(answer, 'zk_approximate_data_size'),
    heapBytes: heapOf(server),
    transactions: Number((await zxidOf(server)) & 0xffff_ffffn),
    requests: mntrFigure(await server.command('mntr'), 'zk_packets_received'),
  };
}

/** `jcmd` counts live objects only, and therefore collects the garbage first. */
function heapOf(server: ZooKeeperServer): number {
  const histogram = execFileSync('jcmd', [String(server.pid), 'GC.class_histogram'], {
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  });
  return Number(/^Total\s+\d+\s+(\d+)/m.exec(histogram)?.[1] ?? NaN);
}
