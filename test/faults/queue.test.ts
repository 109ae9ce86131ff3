import { playEveryFault } from './every-fault.ts';
import { askingScenarios } from './asking-scenarios.ts';
import { leaseScenarios } from './lease-scenarios.ts';
import { lookAheadScenarios } from './look-ahead-scenarios.ts';

playEveryFault('several waiters', [...lookAheadScenarios, ...askingScenarios, ...leaseScenarios], 7_200);
