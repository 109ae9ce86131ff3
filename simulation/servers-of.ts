import type { Clock } from '../src/support/clock.ts';
import type { Random } from '../lab/random.ts';
import { cancel, phases, type Agenda } from '../lab/virtual/agenda.ts';
import type { CommittedChange } from '../lab/ensemble/committed.ts';
import { Ensemble } from '../lab/ensemble/ensemble.ts';
import type { Plan } from './plan.ts';
import type { Servers } from './servers.ts';
import { SingleServer } from './single-server.ts';

/** The servers of a plan: one embedded server, or an ensemble. */
export function serversOf(plan: Plan, agenda: Agenda, random: Random): Servers {
  return plan.members === 1
    ? new SingleServer(agenda, () => random.next(), plan.tickTimeMs)
    : ensembleOf(plan, agenda, random);
}

function ensembleOf({ members, tickTimeMs, mostDelayMs, locks }: Plan, agenda: Agenda, random: Random): Servers {
  const ensemble = new Ensemble({
    clock: clockOf(agenda),
    random: () => random.next(),
    members,
    tickTimeMs,
    delayMs: mostDelayMs / 4,
    // The judge of weights compares the sequence numbers of a whole run. They begin anew when the path is reaped.
    containerCheckIntervalMs: locks.some(({ is }) => is === 'weighted') ? 1e9 : tickTimeMs,
  });
  const committed = ensemble.committed();
  return {
    members,
    faults: {
      expire: (sessionId) => void ensemble.expire(sessionId),
      deleteZnode: (path) => void ensemble.deleteZnode(path),
      cut: (member) => ensemble.cut(member),
      heal: (member) => ensemble.heal(member),
      slowDown: (member, byMs) => ensemble.slowDown(member, byMs),
      crash: (member) => ensemble.crash(member),
      restart: (member) => ensemble.restart(member),
      depose: () => ensemble.depose(),
    },
    accept: (member, end) => {
      if (ensemble.roleOf(member) === 'down') return false;
      ensemble.accept(member, end);
      return true;
    },
    committed: () => committed,
    onCommit: (listener) =>
      ensemble.onCommit(({ changes }) => {
        // Most transactions are heartbeats, which change nothing.
        if (changes.length > 0) listener(pathsOf(changes, 'created'), pathsOf(changes, 'deleted'));
      }),
  };
}

function pathsOf(changes: readonly CommittedChange[], is: 'created' | 'deleted'): string[] {
  return changes.flatMap((change) => (change.is === is ? [change.path] : []));
}

/** The servers' clocks are perfect, and nothing stalls their code. */
function clockOf(agenda: Agenda): Clock {
  return {
    now: () => agenda.now,
    after: (delayMs, run) => {
      const entry = agenda.add(agenda.now + Math.max(0, delayMs), phases.timer, undefined, run);
      return () => cancel(entry);
    },
    afterPoll: (run) => void agenda.add(agenda.now, phases.check, undefined, run),
    wall: () => agenda.now,
  };
}
