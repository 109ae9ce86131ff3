import { playEveryFault } from './every-fault.ts';
import { quietScenarios } from './quiet-scenarios.ts';
import { recoveries } from './recoveries.ts';

playEveryFault('losses and quiet sessions', [...recoveries, ...quietScenarios], 4_600);
