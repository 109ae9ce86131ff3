interface Setup {
  readonly needs?: readonly string[];
  readonly code: string;
}

/** Code that blocks of the pages use without showing it: `<!-- setup: client, mutex -->` above a block. */
const setups: Readonly<Record<string, Setup>> = {
  client: { code: `await using client = await LockClient.connect('127.0.0.1:2181');` },
  other: { code: `await using other = await LockClient.connect('127.0.0.1:2181'); // stands for another host` },
  mutex: { needs: ['client'], code: `const mutex = new InterProcessMutex(client, '/locks/orders/42');` },
  elsewhere: { needs: ['other'], code: `const elsewhere = new InterProcessMutex(other, '/locks/orders/42');` },
  hold: { needs: ['mutex'], code: `await using hold = await mutex.acquire();` },
  semaphore: {
    needs: ['client'],
    code: `const semaphore = new InterProcessSemaphore(client, '/semaphores/printers', { maxLeases: 3 });`,
  },
  rw: { needs: ['client'], code: `const rw = new InterProcessReadWriteLock(client, '/locks/catalogue');` },
  signal: { code: `const { signal } = new AbortController();` },
};

/** The code of all the setups that are named, and of those that they need, each once and in the right order. */
export function setupCode(where: string, names: readonly string[]): string {
  const done = new Set<string>();
  const add = (name: string): string[] => {
    if (done.has(name)) return [];
    done.add(name);
    const setup = setups[name];
    if (!setup) throw new Error(`${where}: there is no setup ${name}, only ${Object.keys(setups).join(', ')}`);
    return [...(setup.needs ?? []).flatMap(add), setup.code];
  };
  return names.flatMap(add).join('\n');
}
