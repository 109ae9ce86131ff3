import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { LockBoard } from '../board/lock-board.js';
import type { LockClient } from '../../../../src/client/lock-client.js';
import { forceRelease, revoke } from '../../../../src/revocation/revocation.js';
import { errorText } from '../../../../src/support/error-text.js';

/** The answer to a request that changes something. */
export interface ControlAnswer {
  readonly status: number;
  readonly content: { readonly outcome: string } | { readonly error: string };
}

/** Asks for locks and takes locks, for pages that know the token. */
export class Control {
  readonly #client: LockClient;
  readonly #board: LockBoard;
  readonly #token: string;

  constructor(client: LockClient, board: LockBoard, token: string) {
    this.#client = client;
    this.#board = board;
    this.#token = token;
  }

  /** `revoke` asks the participant to release. `release` takes the lock from it. */
  async answer(what: 'revoke' | 'release', request: IncomingMessage): Promise<ControlAnswer> {
    const { 'content-type': type = '', 'x-zklock-token': token } = request.headers;
    // A form of another site cannot send these two headers.
    if (!/^application\/json\b/.test(type)) return refusal(415, 'Expected the content type application/json');
    if (typeof token !== 'string' || !isSame(token, this.#token))
      return refusal(403, 'The token is not this console’s: load the page again');
    const path = await pathIn(request);
    if (path === undefined) return refusal(400, 'Expected {"path": "the znode of a holder or a waiter"}');
    if (!this.#isShown(path)) return refusal(404, `${path} neither holds nor awaits a lock any more`);
    try {
      if (what === 'release') return done(await forceRelease(this.#client, path));
      await revoke(this.#client, path, { timeoutMs: answerLimitMs });
      return done('asked');
    } catch (error) {
      return refusal(502, errorText(error));
    }
  }

  /** Other znodes are not touched, whatever a request says. */
  #isShown(path: string): boolean {
    for (const { holders, waiters } of this.#board.locks.values())
      if ([...holders, ...waiters].some((znode) => znode.path === path)) return true;
    return false;
  }
}

function done(outcome: string): ControlAnswer {
  return { status: 200, content: { outcome } };
}

function refusal(status: number, error: string): ControlAnswer {
  return { status, content: { error } };
}

/** Compares hashes, so that the time does not show how much of the token is right. */
function isSame(given: string, token: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(token));
}

async function pathIn(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length;
    if (length > mostBytes) return undefined;
    chunks.push(chunk);
  }
  try {
    const { path } = JSON.parse(Buffer.concat(chunks).toString()) as { path?: unknown };
    return typeof path === 'string' ? path : undefined;
  } catch {
    return undefined;
  }
}

/** A path has at most 8192 bytes. */
const mostBytes = 20_000;

const answerLimitMs = 5_000;
