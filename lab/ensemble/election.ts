import type { Leadership } from './leadership.ts';
import type { Member } from './member.ts';

/** The result of a look for a leader. */
export type Vote =
  | { readonly is: 'follow'; readonly leadership: Leadership }
  | { readonly is: 'elect'; readonly leader: Member; readonly followers: readonly Member[] }
  | { readonly is: 'wait' };

/**
 * A member without a leader joins the newest one, if that leads a quorum without this member. Otherwise it elects the
 * member with the newest log among those that look for a leader, too, if they are enough.
 */
export function voteOf(member: Member, members: readonly Member[], quorum: number): Vote {
  const peers = members.filter((peer) => peer !== member && areConnected(member, peer));
  for (const { role, epoch } of peers) {
    if (role.at !== 'leading' || epoch < member.epoch) continue;
    if (followersOf(role.leadership, peers) + 1 >= quorum) return { is: 'follow', leadership: role.leadership };
  }
  const looking = peers.filter(({ role }) => role.at === 'looking');
  const leader = looking.reduce((best, peer) => (isNewer(peer, best) ? peer : best), member);
  const followers = [member, ...looking].filter((peer) => peer !== leader && areConnected(leader, peer));
  return followers.length + 1 >= quorum ? { is: 'elect', leader, followers } : { is: 'wait' };
}

function followersOf(leadership: Leadership, peers: readonly Member[]): number {
  return peers.filter(({ role }) => role.at === 'following' && role.link.leadership === leadership).length;
}

function areConnected(one: Member, other: Member): boolean {
  if (one.role.at === 'down' || other.role.at === 'down') return false;
  return one.lanes.get(other.id)?.isHeld === false && other.lanes.get(one.id)?.isHeld === false;
}

/** As in Java's FastLeaderElection: the epoch, then the length of the log, then the number of the server. */
function isNewer(one: Member, other: Member): boolean {
  if (one.epoch !== other.epoch) return one.epoch > other.epoch;
  if (one.log.length !== other.log.length) return one.log.length > other.log.length;
  return one.id > other.id;
}
