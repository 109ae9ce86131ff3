import { type Participant, shownParticipant } from '../internals/participants.js';

/** A participant of an election. The leader is the first, and the others follow in the order in which they came. */
export interface Candidate extends Participant {
  /** The id that it wrote into its znode, as text. `revoke` and `forceRelease` overwrite it: `__REVOKE__`, `__FORCE__`. */
  readonly id: string;
  /** True for the first of the queue, as the servers know it. Its process may have found its term lost already. */
  readonly isLeader: boolean;
}

export function candidate(participant: Participant, isLeader: boolean): Candidate {
  return shownParticipant({ ...participant, id: participant.data.toString(), isLeader });
}
