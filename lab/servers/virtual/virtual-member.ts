import { once } from 'node:events';
import type { Ensemble } from '../../ensemble/ensemble.ts';
import type { VirtualMachine } from '../../virtual/bridge.ts';
import type { VirtualProcess } from '../../virtual/virtual-process.ts';
import { VirtualServer } from '../../virtual/virtual-server.ts';
import type { VirtualSocket } from '../../virtual/virtual-socket.ts';
import { fourLetterWord } from '../four-letter-word.ts';
import type { ZooKeeperServer } from '../local-zookeeper.ts';

/** The member of an ensemble, and the machine that reaches it. */
export interface MemberPlace {
  readonly machine: VirtualMachine;
  /** The process of the ensemble. */
  readonly whose: VirtualProcess;
  readonly ensemble: Ensemble;
  readonly id: number;
}

/** A member of a simulated ensemble behind a port of the virtual network. */
export class VirtualMember implements ZooKeeperServer {
  readonly port: number;
  readonly connectString: string;
  readonly secureConnectString: string;
  readonly #place: MemberPlace;
  readonly #sockets = new Set<VirtualSocket>();
  #listener: VirtualServer | undefined;
  #hasRun = false;

  constructor(place: MemberPlace) {
    this.#place = place;
    this.port = place.machine.network.freshPort();
    this.connectString = `127.0.0.1:${this.port}`;
    this.secureConnectString = `localhost:${this.port}`;
  }

  get pid(): number {
    throw new Error('A virtual member has no process id: a test of processes belongs into test/contract');
  }

  command(word: string): Promise<string> {
    return fourLetterWord('127.0.0.1', this.port, word);
  }

  async start(): Promise<void> {
    if (this.#listener) return;
    const { machine, whose, ensemble, id } = this.#place;
    if (this.#hasRun) ensemble.restart(id);
    this.#hasRun = true;
    const listener = machine.time.as(
      whose,
      () => new VirtualServer(machine.network, {}, (socket) => this.#accept(socket)),
    );
    this.#listener = listener.listen(this.port, '127.0.0.1');
    await once(listener, 'listening');
  }

  async kill(): Promise<void> {
    const listener = this.#listener;
    if (!listener) return;
    this.#listener = undefined;
    const closed = new Promise((resolve) => listener.close(resolve));
    this.#place.ensemble.crash(this.#place.id);
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  wipe(): void {
    throw new Error('A virtual member keeps its log: a test that needs another belongs into test/contract');
  }

  backUp(): () => void {
    return this.wipe() as never;
  }

  pause(): void {
    throw new Error('A virtual member cannot be paused: stop the answers by a proxy');
  }

  resume(): void {
    this.pause();
  }

  stop(): Promise<void> {
    return this.kill();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #accept(socket: VirtualSocket): void {
    const { ensemble, id } = this.#place;
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket)).on('error', () => undefined);
    socket.once('data', (first: Buffer) => {
      if (first.toString() === 'srvr') return void socket.end(`Mode: ${this.#mode}\n`);
      const listeners: ((chunk: Buffer) => void)[] = [];
      const isUp = ensemble.accept(id, {
        write: (chunk) => void socket.write(chunk),
        destroy: () => socket.destroySoon(),
        onData: (listener) => void listeners.push(listener),
        onClose: (listener) => void socket.once('close', listener),
      });
      if (!isUp) return void socket.destroy();
      for (const listener of listeners) {
        listener(first);
        socket.on('data', listener);
      }
    });
  }

  get #mode(): string {
    const role = this.#place.ensemble.roleOf(this.#place.id);
    return role === 'leading' ? 'leader' : role === 'following' ? 'follower' : 'none';
  }
}
