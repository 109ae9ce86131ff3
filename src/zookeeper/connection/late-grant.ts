import type { Clock } from '../../support/clock.js';
import { inNoContext } from '../../support/no-context.js';
import { readConnectResponse } from '../wire/connect-response.js';
import { closeSession } from '../wire/operations.js';
import type { ServerLink } from './server-link.js';
import { Writer } from '../wire/wire.js';

/**
 * Takes over a link whose attempt was given up before the server answered the ConnectRequest. The server may still grant
 * a session that nobody uses. No other connection can close it, because the grant has its id and its password, and it
 * would live until its timeout. The link stays until the server has closed that session, but not longer than `longestMs`.
 *
 * @param askedFor the id of the session to resume; 0 for a new one
 */
export function closeLateGrant(link: ServerLink, askedFor: bigint, clock: Clock): void {
  let isClosed = false;
  const close = (): void => {
    isClosed = true;
    link.write(closeSessionFrame);
  };
  const end = (): void => link.abandon();
  const cancel = inNoContext(() => clock.after(longestMs, end, { keepsProcess: false }));
  link.passTo({
    failure: 'The answer to an attempt that was given up could not be read',
    receive: (frame) => {
      if (isClosed) return;
      const { sessionId, timeoutMs } = readConnectResponse(frame);
      if (timeoutMs > 0 && sessionId !== askedFor) {
        close();
      } else {
        cancel();
        end();
      }
    },
    ended: cancel,
  });
  // A process that has given up may exit meanwhile. What was written is sent all the same.
  link.unref();
  // The server reads it when it has granted the session, and then ends the connection. If the client asked for a session
  // to resume, that would end the session.
  if (askedFor === 0n) close();
}

/** A longer wait would keep a connection of an overloaded server. */
const longestMs = 2_000;

/** A request with the number 1. */
export const closeSessionFrame = new Writer().int(1).int(closeSession().opcode).frame();
