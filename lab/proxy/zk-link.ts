import { connect, type Socket } from 'node:net';
import { FrameDecoder } from './zk-frame.ts';
import { ZkLane, type LaneEvents } from './zk-lane.ts';

/** One client connection, with the server connection that belongs to it. */
export class ZkLink {
  readonly ended: Promise<unknown>;
  readonly #sockets: readonly Socket[];
  readonly #lanes: readonly ZkLane[];

  constructor(connection: number, client: Socket, target: number, events: LaneEvents) {
    const server = connect(target, '127.0.0.1');
    const decoder = new FrameDecoder(connection);
    const cut = () => this.cut();
    this.#sockets = [client, server];
    this.#lanes = [
      new ZkLane({ from: 'client', source: client, target: server }, decoder, events, cut),
      new ZkLane({ from: 'server', source: server, target: client }, decoder, events, cut),
    ];
    this.ended = Promise.all(this.#sockets.map(closed));
    for (const socket of this.#sockets) {
      socket.setNoDelay(true);
      socket.on('error', () => undefined); // 'close' follows, and the lane closes the other side
    }
  }

  hold(): void {
    for (const lane of this.#lanes) lane.hold();
  }

  release(): void {
    for (const lane of this.#lanes) lane.release();
  }

  cut(): void {
    for (const lane of this.#lanes) lane.end();
    for (const socket of this.#sockets) socket.destroy();
  }
}

function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()));
}
