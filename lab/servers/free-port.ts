import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { virtualMachine } from '../world.ts';

// Below every system's ephemeral range: a client that repeatedly dials a stopped server on an ephemeral port can get
// that port as its own. The client then connects to itself, and the server cannot bind the port again.
const lowest = 10_000;
const highest = 32_000;
const tries = 100;
/** Ports without a listener for a while, which are not free. */
const kept = new Set<number>();

/** Ports of 127.0.0.1 without a listener. Another program may still take one first: see `onFreshPorts`. */
export async function freePorts(count: number): Promise<number[]> {
  const network = virtualMachine?.network;
  if (network) return Array.from({ length: count }, () => network.freshPort());
  const ports = new Set<number>();
  for (let attempt = 0; attempt < tries * count && ports.size < count; attempt++) {
    const port = lowest + Math.floor(Math.random() * (highest - lowest));
    if (await isFree(port)) ports.add(port);
  }
  if (ports.size < count) throw new Error(`No ${count} free ports of 127.0.0.1 between ${lowest} and ${highest}`);
  return [...ports];
}

/** Another program took a port after it was chosen and before it was bound. */
export class PortTakenError extends Error {}

/** Calls `start` with free ports, and with other ports if one of them is taken. */
export async function onFreshPorts<T>(count: number, start: (ports: number[]) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await start(await freePorts(count));
    } catch (error) {
      if (!(error instanceof PortTakenError) || attempt === 5) throw error;
    }
  }
}

/** Keeps this process from choosing a port that will be used again, until `giveUpPort`. */
export function keepPort(port: number): void {
  kept.add(port);
}

export function giveUpPort(port: number): void {
  kept.delete(port);
}

/** Like `listen`, on a port that was used before: another process may bind it for a moment. */
export async function listenAgain(server: Server, port: number): Promise<void> {
  for (let left = 100; ; left -= 1) {
    try {
      await listen(server, port);
      return;
    } catch (error) {
      if (!(error instanceof PortTakenError) || left === 0) throw error;
      await setTimeout(20);
    }
  }
}

/** Resolves with the port once the server listens on it. Rejects with PortTakenError if another process listens. */
export function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) =>
      reject(error.code === 'EADDRINUSE' ? new PortTakenError(error.message, { cause: error }) : error);
    server.once('error', failed);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', failed);
      resolve(port);
    });
  });
}

export async function isFree(port: number): Promise<boolean> {
  if (kept.has(port)) return false;
  const probe = createServer();
  try {
    await listen(probe, port);
  } catch {
    return false;
  }
  await once(probe.close(), 'close');
  return true;
}
