import type { Fault, FaultScript } from './fault-script.js';
import { JuteReader } from '../wire/jute.js';
import { opcodes, opName } from '../wire/opcodes.js';
import { sessionName } from './session-table.js';

/** The scripts in progress. */
export class Faults {
  readonly #scripts = new Set<FaultScript>();

  play(script: FaultScript): () => void {
    if (!script.isDone) this.#scripts.add(script);
    return () => void this.#scripts.delete(script);
  }

  /** The fault for a request, if a script has one. */
  of(sessionId: bigint, frame: Buffer): Fault | undefined {
    if (this.#scripts.size === 0) return undefined;
    const opcode = frame.readInt32BE(4);
    const request = {
      op: opName(opcode),
      path: pathOfRequest(opcode, frame.subarray(8)),
      sessionId: sessionName(sessionId),
    };
    for (const script of this.#scripts) {
      const fault = script.faultOf(request);
      if (script.isDone) this.#scripts.delete(script);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
}

/** The path of a request, if its kind has one. The path comes first in the record. */
function pathOfRequest(opcode: number, body: Buffer): string | undefined {
  try {
    const reader = new JuteReader(body, body.length);
    if (opcode === opcodes.multi || opcode === opcodes.multiRead) {
      reader.int();
      if (reader.flag()) return undefined;
      reader.int();
    } else if (withoutPath.has(opcode)) return undefined;
    return reader.text() ?? undefined;
  } catch {
    // A malformed request matches no path. The server itself refuses it.
    return undefined;
  }
}

const withoutPath = new Set<number>([
  opcodes.ping,
  opcodes.auth,
  opcodes.sasl,
  opcodes.setWatches,
  opcodes.setWatches2,
  opcodes.whoAmI,
  opcodes.closeSession,
  opcodes.reconfig,
]);
