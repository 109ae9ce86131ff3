import { constants } from 'node:os';

/** The exit codes of every verb. Where `sysexits.h` has a code for the case, it is that one. */
export const exitCodes = {
  success: 0,
  usage: 64,
  unreachable: 69,
  failed: 70,
  notAcquired: 75,
  notAllowed: 77,
  lost: 79,
  cannotExecute: 126,
  notFound: 127,
} as const;

/** The meaning of each exit code, for the help texts. */
export const exitCodeTexts: readonly (readonly [code: string, meaning: string])[] = [
  ['0', 'success'],
  ['64', 'bad usage: an unknown option, a bad value, a bad path'],
  ['69', 'ZooKeeper is unreachable'],
  ['70', 'any other failure'],
  ['77', 'not allowed: the servers refused the credentials, or the rights of a znode'],
];

/** The exit code that a shell reports for a process that a signal ended. */
export function exitCodeOfSignal(signal: NodeJS.Signals): number {
  return 128 + constants.signals[signal];
}
