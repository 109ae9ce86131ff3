export { GuardError, StaleTokenError, type GuardErrorCode } from './guard-error.js';
export type { FencedHold, FencedOptions, GuardOptions } from './fence.js';
export type { Job } from './fenced.js';
