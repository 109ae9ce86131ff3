import { systemChance, type Chance } from '../support/chance.js';
import { systemClock, type Clock } from '../support/clock.js';
import { systemNetwork, type Network } from '../zookeeper/network/network.js';

/** All that a client takes from the process around it. A simulation passes its own. */
export interface Surroundings {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly network: Network;
}

export const systemSurroundings: Surroundings = { clock: systemClock, chance: systemChance, network: systemNetwork };
