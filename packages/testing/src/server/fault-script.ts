import { expected, expectInteger, expectOptions, expectDuration } from '../../../../src/support/validate.js';
import { opcodes, opName, type OpName } from '../wire/opcodes.js';
import { errorNumbers, type ErrorName } from '../wire/refusal.js';

/** A script of faults, one step after another. */
export class FaultScript {
  readonly #steps: readonly FaultStep[];
  #step = 0;
  #matched = 0;

  /** @throws TypeError or RangeError that names the step's option */
  constructor(steps: readonly FaultStep[]) {
    if (!Array.isArray(steps)) throw new TypeError(expected('steps', 'an array of { op, path, fault, … }', steps));
    this.#steps = steps.map((step: FaultStep) => checkedStep(step));
  }

  /** True once all steps have happened. */
  get isDone(): boolean {
    return this.#step >= this.#steps.length;
  }

  /** Returns the fault for this request, if there is one. */
  faultOf(request: FaultyRequest): Fault | undefined {
    const step = this.#steps[this.#step];
    if (!step || !isMeant(step, request)) return undefined;
    this.#matched += 1;
    const { after = 0, times = 1, fault } = step;
    if (this.#matched <= after) return undefined;
    if (this.#matched === after + times) {
      this.#step += 1;
      this.#matched = 0;
    }
    return fault;
  }
}

/**
 * A fault replaces the normal answer:
 * - `lose-request`: the connection is cut, and the request is not carried out.
 * - `lose-answer`: the request is carried out, and the connection is cut before the answer is sent. The client cannot
 *   distinguish these two.
 * - `ignore`: the request is neither carried out nor answered, and the connection stays, as with a link that has gone
 *   silent.
 * - `expire-session`: the session ends on the server, with all its ephemeral znodes, and the request is not carried
 *   out.
 * - `{ refuse }`: the request is answered with this error, and not carried out.
 * - `{ delayMs }`: the request, and all later requests of the connection, are handled later.
 */
export type Fault = 'lose-request' | 'lose-answer' | 'ignore' | 'expire-session' | RefusedRequest | DelayedRequest;

/** A fault that refuses a request. */
export interface RefusedRequest {
  /** The error that answers the request. */
  readonly refuse: ErrorName;
}

/** A fault that delays a request. */
export interface DelayedRequest {
  /** The delay in milliseconds, by the server's clock. */
  readonly delayMs: number;
}

/** A fault, and the requests that get it. */
export interface FaultStep {
  /** The kind of request. @default any kind */
  readonly op?: OpName | undefined;
  /** The request's path, or a pattern for it. For a multi, the path of its first operation. @default any path */
  readonly path?: string | RegExp | undefined;
  /** Only requests of this session, by its id: `0x100003e1a2b0000`. */
  readonly sessionId?: string | undefined;
  /** The number of matching requests that pass before the fault. @default 0 */
  readonly after?: number | undefined;
  /** The number of matching requests in a row that get the fault before the next step begins. @default 1 */
  readonly times?: number | undefined;
  /** The fault that these requests get. */
  readonly fault: Fault;
}

/** The parts of a request that a step can match. */
export interface FaultyRequest {
  readonly op: OpName | undefined;
  readonly path: string | undefined;
  readonly sessionId: string;
}

const known = ['op', 'path', 'sessionId', 'after', 'times', 'fault'] as const;
const words: readonly unknown[] = ['lose-request', 'lose-answer', 'ignore', 'expire-session'];

function isMeant({ op, path, sessionId }: FaultStep, request: FaultyRequest): boolean {
  if (op !== undefined && op !== request.op) return false;
  if (sessionId !== undefined && sessionId !== request.sessionId) return false;
  if (path === undefined) return true;
  if (request.path === undefined) return false;
  // `search` does not change a pattern's `lastIndex`; `test` does if the pattern has the flag g.
  return typeof path === 'string' ? path === request.path : request.path.search(path) !== -1;
}

function checkedStep(given: FaultStep): FaultStep {
  const step = expectOptions('a fault step', given, known);
  const { op, path, sessionId, after, times, fault } = step as unknown as Record<(typeof known)[number], unknown>;
  if (op !== undefined && !isOpName(op)) throw new TypeError(expected('op', `a request's name such as 'create2'`, op));
  if (path !== undefined && typeof path !== 'string' && !(path instanceof RegExp))
    throw new TypeError(expected('path', 'a string or a RegExp', path));
  if (sessionId !== undefined) expectSessionId('sessionId', sessionId);
  if (after !== undefined) expectInteger('after', after, { min: 0 });
  if (times !== undefined) expectInteger('times', times, { min: 1 });
  checkFault(fault);
  return step;
}

export function expectSessionId(option: string, value: unknown): void {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{1,16}$/.test(value))
    throw new TypeError(expected(option, "a session's id such as '0x100003e1a2b0000'", value));
}

function isOpName(op: unknown): boolean {
  return typeof op === 'string' && Object.hasOwn(opcodes, op) && opName(opcodes[op as OpName]) === op;
}

function checkFault(fault: unknown): void {
  if (words.includes(fault)) return;
  const { refuse, delayMs, ...rest } = (fault ?? {}) as Record<string, unknown>;
  const isOne = (refuse === undefined) !== (delayMs === undefined) && Object.keys(rest).length === 0;
  if (isOne && delayMs !== undefined) expectDuration('delayMs', delayMs);
  else if (!isOne || typeof refuse !== 'string' || !Object.hasOwn(errorNumbers, refuse)) {
    throw new TypeError(
      expected(
        'fault',
        `one of 'lose-request', 'lose-answer', 'ignore', 'expire-session', { refuse: 'NO_NODE' or another error's name }, { delayMs }`,
        fault,
      ),
    );
  }
}
