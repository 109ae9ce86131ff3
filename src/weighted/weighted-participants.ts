import type { LockClient } from '../client/lock-client.js';
import type { Session } from '../zookeeper/session.js';
import { readParticipant, type Participant } from '../internals/participants.js';
import type { Deadline } from '../internals/deadline.js';
import { untilAnswered } from '../internals/until-answered.js';
import { lightest, weightedChild } from './weighted-name.js';
import { lookAtWeighted, type WeightedLook } from './weighted-look.js';

/** The queue of a lock with weights: the holder first, then those who wait in the order in which they would be let in. */
export function readWeightedParticipants(client: LockClient, path: string, deadline: Deadline): Promise<Participant[]> {
  return read(client, path, deadline, 'participants', ({ shown }) => [...shown.order.keys()]);
}

/**
 * Who holds a lock with weights; undefined when nobody does. Nothing that was written before is missed, through whichever server. Throws, as an acquire would, where
 * nobody can say.
 */
export async function readWeightedHolder(client: LockClient, path: string, deadline: Deadline): Promise<Participant | undefined> {
  const [holder] = await read(client, path, deadline, 'holder', (look) => {
    const { holder } = look.shown.holder ? look.shown : look.queue(path);
    return holder ? [holder] : [];
  });
  return holder;
}

/** Undefined when it has left. */
export async function readWeightedParticipant(client: LockClient, session: Session, path: string, name: string): Promise<Participant | undefined> {
  const { sequence = 0, weight = lightest } = weightedChild(name) ?? {};
  const participant = await readParticipant(client, session, path, name, sequence);
  return participant && { ...participant, weight };
}

function read(client: LockClient, path: string, deadline: Deadline, what: 'participants' | 'holder', chosen: (look: WeightedLook) => string[]): Promise<Participant[]> {
  const root = `${client.chroot}${path}`;
  return untilAnswered(client, deadline, `The ${what} of ${path} cannot be read`, async (session) => {
    session.catchUp(root);
    const names = chosen(await lookAtWeighted(session, root));
    // A participant that left between the two looks is not there any more.
    return (await Promise.all(names.map((name) => readWeightedParticipant(client, session, path, name)))).filter((participant) => participant !== undefined);
  });
}
