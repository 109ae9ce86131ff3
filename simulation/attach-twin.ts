import type { SessionIdentity } from '../src/zookeeper/wire-session.ts';
import type { SimNetwork } from './sim-network.ts';
import type { SimProcess } from './sim-process.ts';

/**
 * A second connection attaches to a session, as a ConnectRequest does that was delayed in the network until its client
 * had given that connection up. It says nothing more, and ends after the answer.
 */
export function attachTwin(
  network: SimNetwork,
  process: SimProcess,
  member: number,
  { id, password, lastZxid }: SessionIdentity,
  timeoutMs: number,
): void {
  const link = network.of(process, undefined).connect({ host: `s${member}`, port: 2181 });
  link.on('connect', () => {
    const request = Buffer.alloc(4 + 4 + 8 + 4 + 8 + 4 + password.length);
    request.writeInt32BE(request.length - 4, 0);
    request.writeBigInt64BE(lastZxid, 8);
    request.writeInt32BE(timeoutMs, 16);
    id.copy(request, 20);
    request.writeInt32BE(password.length, 28);
    password.copy(request, 32);
    link.write(request);
  });
  link.on('data', () => link.destroy());
}
