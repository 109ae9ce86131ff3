import { playEveryFault } from './every-fault.ts';
import { mutexScenarios, ensembleScenarios } from './scenarios.ts';

playEveryFault('the mutex, also with three servers', [...mutexScenarios, ...ensembleScenarios], 6_000);
