import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export interface TcpConnection {
  readonly localPort: number;
  readonly remotePort: number;
}

const established = '01';

/** The TCP connections of a process, as Linux reports them in /proc. */
export function connectionsOf(pid: number): TcpConnection[] {
  const inodes = socketsOf(pid);
  return ['tcp', 'tcp6'].flatMap((table) => {
    const [, ...lines] = readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trimEnd().split('\n');
    return lines.flatMap((line) => {
      const [, local = '', remote = '', state, , , , , , inode = ''] = line.trim().split(/\s+/);
      return state === established && inodes.has(inode)
        ? [{ localPort: portOf(local), remotePort: portOf(remote) }]
        : [];
    });
  });
}

function socketsOf(pid: number): Set<string> {
  const folder = `/proc/${pid}/fd`;
  const inodes = readdirSync(folder).map(
    (descriptor) => /^socket:\[(\d+)\]$/.exec(targetOf(`${folder}/${descriptor}`))?.[1],
  );
  return new Set(inodes.filter((inode) => inode !== undefined));
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return ''; // the descriptor was closed meanwhile
  }
}

/** Parses an address such as `0100007F:1F90`. */
function portOf(address: string): number {
  return Number.parseInt(address.slice(address.lastIndexOf(':') + 1), 16);
}
