import { enterVirtualMachine, type MachineOfTests } from './virtual/bridge.ts';

/**
 * The world of the tests in this process: `virtual` with virtual time, a network in memory and embedded servers, or
 * `real` with this machine's clock and sockets and real servers. TEST_WORLD chooses it. Without it the world is virtual
 * if a test of `test/behaviour` or `test/faults` is named on the command line.
 */
const world =
  process.env['TEST_WORLD'] ??
  (process.argv.some((argument) => /\btest\/(behaviour|faults)\b/.test(argument)) ? 'virtual' : 'real');
if (world !== 'virtual' && world !== 'real')
  throw new RangeError(`Expected TEST_WORLD to be virtual or real, got ${world}`);

/**
 * The virtual machine that this process is; undefined in the real world. This module must be loaded before anything of
 * `src`, which takes its clock and its network from Node when it is loaded.
 */
export const virtualMachine: MachineOfTests | undefined = world === 'virtual' ? enterVirtualMachine() : undefined;

/** The times of one message on this machine, in milliseconds. In the real world a guess. */
export const messageMs = virtualMachine?.chance.delays ?? { least: 0, most: 2 };
/** The longest round trip through a proxy, which takes two messages each way. */
export const proxiedTripMs = 4 * messageMs.most;

/** The time that passes here while code runs: none on virtual time, but for rounding. In the real world a guess. */
export const codeMs = virtualMachine ? 0.001 : 200;

/** Milliseconds of a clock that only goes forward: virtual ones in the virtual world. */
export function now(): number {
  return performance.now();
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * Blocks the event loop of this process, as code that computes for as long would. When it returns, that time has
 * passed, and no timer and no answer has been noticed. Servers go on meanwhile.
 */
export function stall(ms: number): void {
  if (virtualMachine) virtualMachine.time.here.stall(ms);
  else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
