import type { History } from '../../../lab/judge/folded-history.ts';
import { Random } from '../../../lab/random.ts';
import { play, type Call, type Fate, type Round } from './rounds.ts';

const kinds: readonly [Call['kind'], ...Call['kind'][]] = ['plain', 'long', 're-entrant', 'handler'];
const fates: readonly [Fate, ...Fate[]] = [
  'stop-client',
  'kill-client',
  'delete-znode',
  'close-session',
  'silent-link',
  'kill-leader',
];

/** A long run with one fault in every hundred rounds. */
export function busy({
  grants,
  clients,
  paths,
}: {
  readonly grants: number;
  readonly clients: number;
  readonly paths: number;
}): History {
  const random = new Random(grants, clients);
  const callsOfRound = 20;
  const call = (): Call => ({
    client: random.whole(clients),
    path: random.whole(paths),
    kind: random.pick(kinds),
    reads: random.chance(0.5),
    lengthMs: random.between(1, 50),
    waitLimitMs: 0,
  });
  const rounds = Array.from({ length: Math.ceil(grants / callsOfRound) }, (_, index): Round => {
    const fate = index % 100 === 0 ? random.pick(fates) : 'none';
    return { calls: Array.from({ length: callsOfRound }, call), fate, victim: random.whole(callsOfRound) };
  });
  return play(rounds, clients, paths).history;
}
