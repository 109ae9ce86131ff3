import type { Link, Network } from '../src/zookeeper/network.ts';
import { deletionsIn, repliesIn, requestsIn, sessionIn } from './frames.ts';

/** A network that lets a listener hear the watches of a client: what ends them, on either side. */
export function tapped(network: Network, listener: WatchListener): Network {
  return {
    ...network,
    connect: (...args) => {
      const link = network.connect(...args);
      tap(link, listener);
      return link;
    },
  };
}

export interface WatchListener {
  /** The client sends the deletion of a znode. */
  readonly deletes: (path: string, session: bigint) => void;
  /** The client gets the event of a znode's deletion. `isForgetting`: its request to remove the watch is unanswered. */
  readonly heard: (path: string, session: bigint, isForgetting: boolean) => void;
}

function tap(link: Link, { deletes, heard }: WatchListener): void {
  const { write, on } = { write: link.write.bind(link), on: link.on.bind(link) as OnData };
  let session: bigint | undefined;
  const forgetting = new Map<number, string>();
  link.write = (chunk) => {
    if (session !== undefined)
      for (const { xid, type, path } of requestsIn(chunk as Buffer)) {
        if (type === 'delete') deletes(path, session);
        else forgetting.set(xid, path);
      }
    return write(chunk);
  };
  // As `on` of the link, which has one listener of its data.
  (link as { on: OnData }).on = (event, listener) =>
    on(
      event,
      event !== 'data'
        ? listener
        : (chunk) => {
            if (session === undefined) session = sessionIn(chunk);
            else {
              for (const path of deletionsIn(chunk)) heard(path, session, [...forgetting.values()].includes(path));
              for (const xid of repliesIn(chunk)) forgetting.delete(xid);
            }
            listener(chunk);
          },
    );
}

type OnData = (event: string, listener: (chunk: Buffer) => void) => unknown;
