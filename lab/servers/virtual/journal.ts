import type { SessionServer } from '../../../packages/testing/src/server/session-server.ts';
import type { StateMachine } from '../../../packages/testing/src/tree/state-machine.ts';
import { isChange } from '../../../packages/testing/src/tree/proposer.ts';

interface OpenSession {
  readonly id: bigint;
  readonly password: Buffer;
  readonly timeoutMs: number;
}

/** The data of a server that is killed and started again: its transactions in order, and its open sessions. */
export class Journal {
  readonly #transactions: ((machine: StateMachine) => unknown)[];
  readonly #sessions: Map<bigint, OpenSession>;

  constructor(other?: Journal) {
    this.#transactions = other ? [...other.#transactions] : [];
    this.#sessions = new Map(other ? other.#sessions : []);
  }

  /** Brings a new server to the state of the journal, and records its transactions from then on. */
  continue(server: SessionServer): void {
    for (const carryOut of this.#transactions) carryOut(server.machine);
    for (const { id, password, timeoutMs } of this.#sessions.values()) server.restoreSession(id, password, timeoutMs);
    this.#record(server);
  }

  #record(server: SessionServer): void {
    const { machine } = server;
    const answer = machine.answer.bind(machine);
    const openSession = machine.openSession.bind(machine);
    const closeSession = machine.closeSession.bind(machine);
    const reap = machine.reap.bind(machine);
    const add = (carryOut: (machine: StateMachine) => unknown): void => void this.#transactions.push(carryOut);
    machine.answer = (caller, xid, opcode, body, time) => {
      if (isChange(opcode)) {
        // The connection and its buffer change later.
        const [then, bytes] = [{ sessionId: caller.sessionId, identities: [...caller.identities] }, Buffer.from(body)];
        add((again) => again.answer(then, xid, opcode, bytes, time));
      }
      return answer(caller, xid, opcode, body, time);
    };
    machine.openSession = (id, timeoutMs) => {
      add((again) => again.openSession(id, timeoutMs));
      const password = server.sessions.find((session) => session.id === id)?.password;
      if (password) this.#sessions.set(id, { id, password, timeoutMs });
      openSession(id, timeoutMs);
    };
    machine.closeSession = (id, xid) => {
      add((again) => again.closeSession(id, xid));
      this.#sessions.delete(id);
      return closeSession(id, xid);
    };
    machine.reap = (time) => {
      add((again) => again.reap(time));
      return reap(time);
    };
  }
}
