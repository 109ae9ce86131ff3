/** Runs simulations, and prints which functions of the process's own time and chance were called meanwhile. */
const called = new Set<string>();
let isRunning = false;

note(globalThis, 'setTimeout');
note(globalThis, 'setInterval');
note(Date, 'now');
note(performance, 'now');
note(Math, 'random');

// Loaded only now, because the library keeps these functions when it loads.
const { drawPlan } = await import('../../../simulation/draw-plan.ts');
const { Simulation } = await import('../../../simulation/simulation.ts');

isRunning = true;
const sum = { faults: 0, grants: 0 };
// Together they have every kind of lock, multi-locks with a timeout, leases that renew themselves, and closed clients.
for (const seed of [4, 9, 13, 19, 22]) {
  const { faults, grants } = await new Simulation(drawPlan(seed, { steps: 50 })).run();
  sum.faults += faults;
  sum.grants += grants;
}
isRunning = false;
console.log(JSON.stringify({ called: [...called], ...sum }));

function note<T extends object>(owner: T, name: keyof T & string): void {
  const real = owner[name] as (...args: unknown[]) => unknown;
  const noted = (...args: unknown[]): unknown => {
    const caller = new Error().stack?.split('\n')[2]?.trim() ?? '';
    // tsx dates its cache of files.
    if (isRunning && !caller.includes('/node_modules/tsx/')) called.add(`${name} ${caller}`);
    return real.apply(owner, args);
  };
  owner[name] = noted as T[keyof T & string];
}
