import { errorNumbers as errors } from '../../packages/testing/src/wire/refusal.ts';

export { opcodes, type OpName } from '../../packages/testing/src/wire/opcodes.ts';
export { errors };

/** The xids of the frames that answer no numbered request. */
export const xids = { event: -1, ping: -2 } as const;

/** `ok` for 0. */
export function errorName(number: number): string {
  if (number === 0) return 'ok';
  return Object.entries(errors).find(([, each]) => each === number)?.[0] ?? `error ${number}`;
}
