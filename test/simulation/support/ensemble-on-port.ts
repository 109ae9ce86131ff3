import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Random } from '../../../lab/random.ts';
import { Ensemble } from '../../../lab/ensemble/ensemble.ts';
import type { EnsembleClock } from '../../../lab/ensemble/settings.ts';
import { machineClock } from '../../../src/testing/test-clock.ts';

/** A simulated ensemble on real time. One of its members listens on a port. */
export class EnsembleOnPort implements AsyncDisposable {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #timers: Set<() => void>;

  static async start(members: number, member: number): Promise<EnsembleOnPort> {
    const server = createServer({ noDelay: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new EnsembleOnPort(server, members, member);
  }

  private constructor(server: Server, members: number, member: number) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    const timers = (this.#timers = new Set<() => void>());
    const clock: EnsembleClock = {
      now: () => machineClock.now(),
      after: (delayMs, run) => {
        const cancel = machineClock.after(delayMs, () => {
          timers.delete(cancel);
          run();
        });
        timers.add(cancel);
        return () => {
          timers.delete(cancel);
          cancel();
        };
      },
    };
    const random = new Random(1, 0);
    const ensemble = new Ensemble({
      clock,
      random: () => random.next(),
      members,
      tickTimeMs: 2_000,
      delayMs: 0,
      extendedTypesEnabled: true,
      containerCheckIntervalMs: 86_400_000,
    });
    server.on('connection', (socket) => this.#accept(ensemble, member, socket));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cancel of [...this.#timers]) cancel();
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #accept(ensemble: Ensemble, member: number, socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => undefined);
    ensemble.accept(member, {
      write: (chunk) => void socket.write(chunk),
      destroy: () => socket.destroySoon(),
      onData: (listener) => void socket.on('data', listener),
      onClose: (listener) => void socket.once('close', listener),
    });
  }
}
