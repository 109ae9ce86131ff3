import { playEveryFault } from './every-fault.ts';
import { semaphoreScenarios } from './semaphore-scenarios.ts';

playEveryFault('the semaphore', semaphoreScenarios, 8_300);
