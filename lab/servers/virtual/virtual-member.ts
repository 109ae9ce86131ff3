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
  /** What the stopped process is to do when it goes on; undefined while it runs. */
  #postponed: (() => void)[] | undefined;

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
    this.#postponed = undefined;
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

  /** Its process does not run: it reads and writes nothing, and its kernel goes on accepting connections. */
  pause(): void {
    this.#postponed ??= [];
    for (const socket of this.#sockets) socket.pause();
    this.#place.ensemble.cut(this.#place.id);
  }

  resume(): void {
    const postponed = this.#postponed ?? [];
    this.#postponed = undefined;
    this.#place.ensemble.heal(this.#place.id);
    for (const act of postponed) act();
    for (const socket of this.#sockets) socket.resume();
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
    if (this.#postponed) socket.pause();
    socket.once('data', (first: Buffer) => {
      if (first.toString() === 'srvr') return void socket.end(`Mode: ${this.#mode}\n`);
      const listeners: ((chunk: Buffer) => void)[] = [];
      const isUp = ensemble.accept(id, {
        write: (chunk) => this.#whenItRuns(() => void socket.write(chunk)),
        destroy: () => this.#whenItRuns(() => socket.destroySoon()),
        onData: (listener) => void listeners.push(listener),
        onClose: (listener) => void socket.once('close', () => this.#whenItRuns(listener)),
      });
      if (!isUp) return void socket.destroy();
      for (const listener of listeners) {
        listener(first);
        socket.on('data', listener);
      }
    });
  }

  #whenItRuns(act: () => void): void {
    if (this.#postponed) this.#postponed.push(act);
    else act();
  }

  get #mode(): string {
    const role = this.#place.ensemble.roleOf(this.#place.id);
    return role === 'leading' ? 'leader' : role === 'following' ? 'follower' : 'none';
  }
}
