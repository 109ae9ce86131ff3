import { playEveryFault } from './every-fault.ts';
import { electionScenarios } from './election-scenarios.ts';
import { readWriteScenarios } from './read-write-scenarios.ts';
import { stickyScenarios } from './sticky-scenarios.ts';
import { weightedScenarios } from './weighted-scenarios.ts';

playEveryFault(
  'readers and writers, weights, sticky locks and elections',
  [...readWriteScenarios, ...weightedScenarios, ...stickyScenarios, ...electionScenarios],
  6_300,
);
