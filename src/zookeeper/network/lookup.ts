import dns from 'node:dns';
import { readFile } from 'node:fs/promises';
import type { NameServices } from './host-names.js';

/** The names as the system knows them: files, name servers, and what else it is set up with. */
export const systemNames: NameServices = {
  lookup: (name) =>
    new Promise((resolve, reject) => {
      dns.lookup(name, { all: true, hints: process.platform === 'win32' ? 0 : dns.ADDRCONFIG }, (error, addresses) => {
        if (error) reject(error);
        else resolve(addresses);
      });
    }),

  probe(name, isServed) {
    const resolver = new dns.Resolver({ timeout: probeMs, tries: 1 });
    let isOver = false;
    const end = (): void => {
      isOver = true;
      resolver.cancel();
    };
    const served = (): void => {
      if (isOver) return;
      end();
      isServed();
    };
    void isInHostsFile(name).then((isThere) => isThere && served());
    // The system asks for both families, and some name servers answer only for one.
    let unanswered = 2;
    const answered = (error: NodeJS.ErrnoException | null): void => {
      if (error?.code !== dns.TIMEOUT && (unanswered -= 1) === 0) served();
    };
    resolver.resolve4(name, answered);
    resolver.resolve6(name, answered);
    return end;
  },
};

/** Longer than name servers need, and shorter than the five seconds that the system gives each of them. */
const probeMs = 1_000;

/** The resolver of `node:dns` does not read this file, and the system reads it first. */
async function isInHostsFile(name: string): Promise<boolean> {
  const text = await readFile('/etc/hosts', 'utf8').catch(() => '');
  return text.split('\n').some((line) => line.replace(/#.*/, '').trim().split(/\s+/).indexOf(name.toLowerCase()) > 0);
}
