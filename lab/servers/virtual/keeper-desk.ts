import type { Socket } from 'node:net';
import { opcodes, type OpName } from '../../wire/opcodes.ts';
import { FrameSplitter, RecordReader, RecordWriter } from '../../wire/record.ts';

/**
 * The requests of ZooKeeper that a version of ClickHouse Keeper knows:
 * - `base`: until 25.11. No `create2`, and no request about watches.
 * - `create2`: with `create2` and the requests about watches (ClickHouse's pull requests 88813 and 90741).
 * - `containers`: with containers, and znodes with a time to live (pull request 108908).
 */
export type KeeperVersion = 'base' | 'create2' | 'containers';

/**
 * One connection to an imitation of ClickHouse Keeper, as `KeeperTCPHandler.cpp` and `ZooKeeperConstants.h` read:
 * - No session is resumed: the session, the password and the zxid of a ConnectRequest are not looked at. The answer is a
 *   new session, always. The session of a connection that has ended lives on until its timeout.
 * - A session timeout is 10 seconds at least. The password is empty. An answer never has the read-only flag.
 * - A request that it does not know, also in a transaction, ends the connection without an answer.
 * - The end of a session is not answered: the connection ends. It also ends at an answer with the number 2³¹ − 1.
 *
 * Not imitated: several members, the ACLs' schemes, the numbers of its zxids and sessions, its own requests.
 */
export class KeeperDesk {
  readonly #known: ReadonlySet<number>;
  readonly #client: Socket;
  readonly #server: Socket;
  readonly #requests = new FrameSplitter();
  readonly #answers = new FrameSplitter();
  #hasAsked = false;
  #isGranted = false;
  #closeXid = 2 ** 31 - 1;

  constructor(version: KeeperVersion, client: Socket, server: Socket) {
    this.#known = known[version];
    this.#client = client;
    this.#server = server;
  }

  receive(chunk: Buffer): void {
    for (const frame of this.#requests.push(chunk)) {
      if (this.#client.destroyed) return;
      if (!this.#hasAsked) this.#connect(frame);
      else this.#request(frame);
    }
  }

  answer(chunk: Buffer): void {
    for (const frame of this.#answers.push(chunk)) {
      if (!this.#isGranted) {
        this.#isGranted = true;
        this.#client.write(Buffer.from(frame).fill(0, passwordAt));
      } else if (frame.readInt32BE(4) === this.#closeXid) this.#client.destroySoon();
      else this.#client.write(frame);
    }
  }

  #connect(frame: Buffer): void {
    this.#hasAsked = true;
    if (!handshakeBytes.includes(frame.length - 4)) return this.#end();
    const timeoutMs = Math.max(frame.readInt32BE(timeoutAt), leastTimeoutMs);
    const noPassword = Buffer.alloc(16);
    this.#server.write(new RecordWriter().int(0).long(0).int(timeoutMs).long(0).bytes(noPassword).frame());
  }

  #request(frame: Buffer): void {
    const opcode = frame.readInt32BE(8);
    if (!this.#knows(opcode, frame)) return this.#end();
    if (opcode === opcodes.closeSession) this.#closeXid = frame.readInt32BE(4);
    this.#server.write(frame);
  }

  #knows(opcode: number, frame: Buffer): boolean {
    if (!this.#known.has(opcode)) return false;
    return opcode !== opcodes.multi || partsOf(new RecordReader(frame, 12)).every((part) => this.#known.has(part));
  }

  #end(): void {
    this.#client.destroy();
    this.#server.destroy();
  }
}

/** The opcodes in a transaction. */
function partsOf(from: RecordReader): number[] {
  const parts: number[] = [];
  for (;;) {
    const opcode = from.int();
    const isOver = from.flag();
    from.int();
    if (isOver) return parts;
    parts.push(opcode);
    if (!skipPart(opcode, from)) return parts;
  }
}

/** Returns false for a part whose length is unknown. */
function skipPart(opcode: number, from: RecordReader): boolean {
  from.bytes();
  if (opcode === opcodes.check || opcode === opcodes.delete) from.int();
  else if (opcode === opcodes.setData) {
    from.bytes();
    from.int();
  } else if (creates.includes(opcode)) {
    from.bytes();
    from.vector(() => [from.int(), from.bytes(), from.bytes()]);
    from.int();
    if (opcode === opcodes.createTTL) from.long();
  } else return false;
  return true;
}

const base: readonly OpName[] = [
  'create',
  'delete',
  'exists',
  'getData',
  'setData',
  'getACL',
  'setACL',
  'getChildren',
  'sync',
  'ping',
  'getChildren2',
  'check',
  'multi',
  'reconfig',
  'multiRead',
  'auth',
  'closeSession',
];
const watches: readonly OpName[] = ['checkWatches', 'removeWatches', 'setWatches', 'setWatches2', 'addWatch'];

const known: Readonly<Record<KeeperVersion, ReadonlySet<number>>> = {
  base: numbersOf(base),
  create2: numbersOf([...base, ...watches, 'create2']),
  containers: numbersOf([...base, ...watches, 'create2', 'createContainer', 'createTTL']),
};

function numbersOf(names: readonly OpName[]): ReadonlySet<number> {
  return new Set(names.map((name) => opcodes[name]));
}

const creates: readonly number[] = [opcodes.create, opcodes.create2, opcodes.createContainer, opcodes.createTTL];
/** The two lengths that it takes: without the read-only flag, and with it. */
const handshakeBytes = [44, 45];
const leastTimeoutMs = 10_000;
const timeoutAt = 4 + 4 + 8;
const passwordAt = 4 + 4 + 4 + 8 + 4;
