import { createRequire, syncBuiltinESMExports } from 'node:module';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { virtualChance, type VirtualChance } from './chance.ts';
import { abortAfter, virtualDate, wallClock } from './clocks.ts';
import { virtualTimers } from './timers.ts';
import { tlsIn } from './tls.ts';
import { VirtualNetwork } from './virtual-network.ts';
import { VirtualServer } from './virtual-server.ts';
import { VirtualSocket, type ConnectOptions } from './virtual-socket.ts';
import { VirtualTime } from './virtual-time.ts';

const require = createRequire(import.meta.url);

export interface VirtualMachine {
  readonly time: VirtualTime;
  readonly network: VirtualNetwork;
}

/** The machine of a process of tests. */
export interface MachineOfTests extends VirtualMachine {
  readonly chance: VirtualChance;
}

/**
 * Puts this process on virtual time and into a virtual network: Node's timers, clocks, `node:net`, `node:tls` and
 * `dns.lookup` are replaced, for every module that is loaded from now on. It cannot be undone.
 *
 * All randomness of a test is the same in every run. TEST_SEED chooses another one, and lets each message take its own
 * time.
 */
export function enterVirtualMachine(): MachineOfTests {
  const time = new VirtualTime();
  const chance = virtualChance(process.env['TEST_SEED']);
  const network = new VirtualNetwork(time, chance.delay);
  const timers = virtualTimers(time);
  const wall = wallClock(time);
  Object.assign(globalThis, timers.globals, { Date: virtualDate(wall) });
  Object.defineProperty(performance, 'now', { value: () => time.now(), configurable: true });
  AbortSignal.timeout = abortAfter;
  Object.assign(require('node:timers') as object, timers.globals);
  Object.assign(require('node:timers/promises') as object, timers.promises);
  // The addresses of the machine stay as they are, and asking the system takes long.
  const addresses = networkInterfaces();
  Object.assign(require('node:os') as object, {
    uptime: () => time.now() / 1_000,
    networkInterfaces: () => addresses,
  });
  const net = netOf(network);
  Object.assign(require('node:net') as object, net);
  const tls = require('node:tls') as typeof import('node:tls');
  Object.assign(tls, tlsIn(tls, net, time));
  Object.assign(require('node:dns') as object, { lookup: lookupIn(time) });
  syncBuiltinESMExports();
  return { time, network, chance };
}

function netOf(network: VirtualNetwork) {
  const connect = (...args: unknown[]): VirtualSocket => {
    const connected = args.find((each): each is () => void => typeof each === 'function');
    const [first, second] = args;
    const options =
      typeof first === 'object' && first !== null
        ? (first as ConnectOptions)
        : { port: first as number, host: typeof second === 'string' ? second : undefined };
    return VirtualSocket.connect(network, options, connected);
  };
  const createServer = (...args: unknown[]): VirtualServer => {
    const accepted = args.find((each): each is () => void => typeof each === 'function');
    const options = typeof args[0] === 'object' && args[0] !== null ? args[0] : {};
    return new VirtualServer(network, options, accepted);
  };
  return { connect, createConnection: connect, createServer };
}

/** Knows only `localhost`: a test that needs another name brings its own resolver. */
function lookupIn(time: VirtualTime) {
  type Tell = (error: Error | null, address?: unknown, family?: number) => void;
  return (name: string, given: { all?: boolean } | Tell, maybe?: Tell): void => {
    const [options, tell] = typeof given === 'function' ? [{}, given] : [given, maybe as Tell];
    const literal = name === 'localhost' ? '127.0.0.1' : isIP(name) === 0 ? undefined : name;
    time.add(lookupMs, 0, () => {
      if (literal === undefined)
        tell(
          Object.assign(new Error(`getaddrinfo ENOTFOUND ${name}`), {
            code: 'ENOTFOUND',
            syscall: 'getaddrinfo',
            hostname: name,
          }),
        );
      else if (options.all === true) tell(null, [{ address: literal, family: literal.includes(':') ? 6 : 4 }]);
      else tell(null, literal, literal.includes(':') ? 6 : 4);
    });
  };
}

const lookupMs = 0.5;
