import type { Ticket } from './answer.ts';
import { NoAnswerError } from './wire-client.ts';
import { ExpiredError, PlainClient } from './plain-client.ts';

const tries = 20;
const attachLimitMs = 1_000;

/**
 * Ends a session on the servers from another connection, as an administrator or an expiry would, or a client with a
 * stolen password could.
 */
export async function endSession(connectString: string, ticket: Ticket): Promise<void> {
  for (let tried = 0; tried < tries; tried += 1) {
    try {
      // The server drops the owner's connection here. A fast owner attaches again, and the server drops this
      // connection before the close.
      await (await PlainClient.connect(connectString, ticket, attachLimitMs)).close();
    } catch (error) {
      if (error instanceof ExpiredError) return;
      // A member of an ensemble keeps silent if the session moves or ends while it asks the leader.
      if (!(error instanceof NoAnswerError)) throw error;
    }
  }
  throw new Error(`The session 0x${ticket.sessionId.toString(16)} has attached again ${tries} times`);
}
