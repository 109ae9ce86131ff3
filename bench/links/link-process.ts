// Carries bytes to ports of 127.0.0.1 after a delay. Runs as a process of its own, so that the clients lose no CPU time.
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { Alarm } from './alarm.ts';
import { DelayQueue } from './delay-queue.ts';
import type { LinkRequest, LinkAnswer } from './delayed-links.ts';

const queue = new DelayQueue<() => void>();
const alarm = new Alarm(deliver);
let alarmAt = Infinity;

process.on('message', (request: LinkRequest) => open(request));
process.on('disconnect', () => process.exit());

function open({ target, delayMs }: LinkRequest): void {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
    const far = connect({ port: target, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    carry(near, far, delayMs);
    carry(far, near, delayMs);
  });
  server.listen(0, '127.0.0.1', () => {
    const answer: LinkAnswer = { port: (server.address() as AddressInfo).port };
    process.send?.(answer);
  });
}

/** Bytes on their way are kept in memory without a limit, so that the link delays, and does not throttle. */
function carry(from: Socket, to: Socket, delayMs: number): void {
  from.on('data', (bytes) => later(() => void to.write(bytes), delayMs));
  from.on('end', () => later(() => to.end(), delayMs));
  from.on('close', () => later(() => to.destroy(), delayMs));
  from.on('error', () => undefined);
}

function later(act: () => void, delayMs: number): void {
  queue.add(act, now(), delayMs);
  arm();
}

function deliver(): void {
  alarmAt = Infinity;
  for (const act of queue.take(now())) act();
  arm();
}

function arm(): void {
  const { nextDue = Infinity } = queue;
  if (nextDue >= alarmAt) return;
  alarmAt = nextDue;
  alarm.set(BigInt(Math.ceil(nextDue * 1e6)));
}

function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
