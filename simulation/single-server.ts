import type { Socket } from 'node:net';
import { JuteWriter } from '../src/testing/jute.ts';
import { ServerConnection } from '../src/testing/server-connection.ts';
import { SessionServer } from '../src/testing/session-server.ts';
import { phases, type Agenda } from '../lab/virtual/agenda.ts';
import type { Committed, ServerEnd, ServerFaults, Servers } from './servers.ts';

/** One server, without an ensemble: the embedded ZooKeeper behind the simulated network. */
export class SingleServer implements Servers {
  readonly members = 1;
  readonly faults: ServerFaults;
  readonly #server: SessionServer;
  readonly #ends = new Set<ServerEnd>();
  #isDown = false;

  constructor(agenda: Agenda, random: () => number, tickTimeMs: number) {
    const after = (delayMs: number, run: () => void): (() => void) => {
      const entry = agenda.add(agenda.now + delayMs, phases.socket, undefined, run);
      return () => (entry.run = () => {});
    };
    this.#server = new SessionServer({
      tickTimeMs,
      minSessionTimeoutMs: tickTimeMs * 2,
      maxSessionTimeoutMs: tickTimeMs * 20,
      clock: { now: () => agenda.now, after },
      random,
      extendedTypes: false,
      maxBufferBytes: 0xfffff,
    });
    const tick = (): void => {
      if (!this.#isDown) this.#server.expire();
      after(tickTimeMs - (agenda.now % tickTimeMs), tick);
    };
    after(tickTimeMs, tick);
    this.faults = {
      expire: (id) => void this.#server.endSession(id),
      deleteZnode: (path) => this.#delete(path),
      cut: () => {},
      heal: () => {},
      slowDown: () => () => {},
      depose: () => undefined,
      crash: () => {
        this.#isDown = true;
        for (const end of [...this.#ends]) end.destroy();
      },
      restart: () => {
        this.#isDown = false;
      },
    };
  }

  accept(_member: number, end: ServerEnd): boolean {
    if (this.#isDown) return false;
    this.#ends.add(end);
    const connection = new ServerConnection(
      socketOf(end, () => this.#ends.delete(end)),
      this.#server,
      0,
    );
    this.#server.connections.add(connection);
    return true;
  }

  committed(): Committed {
    const { tree } = this.#server.machine;
    return {
      children: (path) => tree.get(path)?.children ?? [],
      ownerOf: (path) => {
        const life = tree.get(path)?.life;
        return life === undefined ? undefined : life.is === 'ephemeral' ? life.sessionId : 0n;
      },
    };
  }

  onCommit(listener: (created: readonly string[], deleted: readonly string[]) => void): void {
    const { tree } = this.#server.machine;
    const [create, remove] = [tree.create.bind(tree), tree.delete.bind(tree)];
    tree.create = (path, ...rest) => {
      const created = create(path, ...rest);
      listener([path], []);
      return created;
    };
    tree.delete = (path, zxid) => {
      remove(path, zxid);
      listener([], [path]);
    };
  }

  #delete(path: string): void {
    const { machine } = this.#server;
    if (machine.tree.get(path) === undefined) return;
    const body = Buffer.concat([Buffer.alloc(4), Buffer.from(path), Buffer.from([255, 255, 255, 255])]);
    body.writeInt32BE(Buffer.byteLength(path), 0);
    const { events } = machine.answer({ sessionId: 0n, identities: [] }, 1, 2, body, 0);
    const writer = new JuteWriter();
    for (const { watcher, type, path: watched } of events)
      if (watcher instanceof ServerConnection)
        watcher.send(writer.reset().int(-1).count(-1).int(0).int(type).int(3).text(watched).frame());
    this.#server.settled();
  }
}

/** The part of a socket that a {@link ServerConnection} needs. */
function socketOf(end: ServerEnd, ended: () => void): Socket {
  const socket = {
    remoteAddress: '127.0.0.1',
    remotePort: 1,
    setNoDelay: () => socket,
    on: (event: string, listener: (chunk: Buffer) => void) => {
      if (event === 'data') end.onData(listener);
      return socket;
    },
    once: (event: string, listener: () => void) => {
      if (event === 'close')
        end.onClose(() => {
          ended();
          listener();
        });
      return socket;
    },
    write: (chunk: Buffer) => end.write(chunk),
    destroy: () => end.destroy(),
    destroySoon: () => end.destroy(),
    pause: () => socket,
    resume: () => socket,
  };
  return socket as unknown as Socket;
}
