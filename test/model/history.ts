import { Agenda } from './agenda.ts';
import { ClientModel } from './client-model.ts';
import type { ClockRule } from './clock-rules.ts';
import { EnsembleModel } from './ensemble-model.ts';
import { Faults } from './faults.ts';
import { Judge } from './judge.ts';
import type { Random } from '../../lab/random.ts';
import type { Scenario } from './scenario.ts';

export interface History {
  readonly scenario: Scenario;
  readonly client: ClientModel;
  readonly judge: Judge;
  /** The number of leaders. */
  readonly leaders: number;
  readonly syncsOfDeposed: number;
}

/** Runs one session from its first connection to its end, and applies several rules to it. */
export function runHistory(random: Random, scenario: Scenario, rules: readonly ClockRule[]): History {
  const agenda = new Agenda();
  const judge: Judge = new Judge(rules, scenario.tickTimeMs, () => client.time);
  const receive = (message: Parameters<ClientModel['receive']>[0]): void => client.receive(message);
  const ensemble = new EnsembleModel(agenda, random, scenario, judge, receive);
  // Added after the lanes: a client that wakes up reads its socket before it runs its timers.
  const client: ClientModel = new ClientModel(agenda, random, scenario, (event) => judge.hear(event));
  new Faults(agenda, random, ensemble, client);
  client.start(ensemble);
  while (agenda.step(scenario.endsAt) && !client.isEnded && !(judge.isClosed && !judge.isAwaited())) {
    // Each step is one message, or one action that is due.
  }
  return { scenario, client, judge, leaders: ensemble.epoch, syncsOfDeposed: ensemble.syncsOfDeposed };
}
