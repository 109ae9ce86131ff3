import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { ConnectionProbe } from '../../lab/wire/connection-probe.ts';
import { Random } from '../../lab/random.ts';
import { connectResponse, startFakeServer, type FakeAnswer } from '../../lab/servers/fake-server.ts';
import { testPath } from '../../lab/test-path.ts';
import { startServer } from '../../lab/servers/zookeeper-server.ts';

const cases = Number(process.env['HOSTILE_CASES'] ?? 10_000);
const seed = Number(process.env['HOSTILE_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
/** The limit shows a password of 2^31 - 1 bytes, or a frame of 64 MB. */
const mostMemory = 32 * 1024 * 1024;

describe(`a ConnectResponse with errors in it, ${cases} times (HOSTILE_SEED=${seed})`, () => {
  it('neither ends nor enlarges the process, and the client connects to a healthy server afterwards', async function () {
    this.timeout(300_000);
    await using server = await startServer();
    const random = new Random(seed, 0);
    const answers: Buffer[] = [];
    const answer = (connection: number): FakeAnswer => {
      if (connection > cases) return { relayTo: server.port };
      const bytes = mutated(random);
      answers.push(bytes);
      return { end: bytes };
    };
    await using fake = await startFakeServer(answer);
    const before = process.memoryUsage();
    let most = 0;
    const told = { connected: 0, expired: 0, refused: 0 };
    try {
      while (fake.asked < cases) {
        // Each round over the hosts begins with a pause, so each round has many hosts.
        const probe = new ConnectionProbe(Array.from({ length: 1_000 }, () => fake.port));
        const isOver = new Promise<void>((resolve) => {
          let left = 1_000;
          const ended = (): void => {
            most = Math.max(most, process.memoryUsage().arrayBuffers - before.arrayBuffers);
            left -= 1;
            if (left === 0 || fake.asked >= cases) resolve();
          };
          probe.on('disconnected', ended);
          probe.on('expired', resolve);
        });
        probe.on('connected', () => void (told.connected += 1));
        probe.on('expired', () => void (told.expired += 1));
        probe.connection.connect();
        await isOver;
        told.refused += probe.warnings.length;
        probe[Symbol.dispose]();
      }
      expect(most, 'bytes in array buffers').to.be.below(mostMemory);
      expect(process.memoryUsage().heapUsed - before.heapUsed, 'bytes of heap').to.be.below(256 * 1024 * 1024);
      for (const [what, count] of Object.entries(told)) expect(count, what).to.be.greaterThan(cases / 100);
      await using client = await LockClient.connect(fake.connectString, { sessionTimeoutMs: 4_000 });
      await new InterProcessMutex(client, testPath('hostile')).withLock(() => undefined);
    } catch (error) {
      throw new Error(
        `HOSTILE_SEED=${seed}, the last answers ${answers
          .slice(-3)
          .map((bytes) => bytes.toString('hex'))
          .join(' ')}`,
        { cause: error },
      );
    }
  });
});

const odd: readonly [number, ...number[]] = [
  -1,
  0,
  1,
  2,
  16,
  36,
  37,
  38,
  64,
  65,
  99,
  100,
  4_000,
  4_096,
  4_097,
  2 ** 16,
  2 ** 26,
  2 ** 30,
  2 ** 31 - 1,
  -(2 ** 31),
  -2,
];

/** Returns a ConnectResponse with one to three errors in it. */
function mutated(random: Random): Buffer {
  let bytes = connectResponse({ timeoutMs: random.pick([4_000, 4_000, 1, -1]) });
  for (let left = 1 + random.whole(3); left > 0; left -= 1) {
    const at = random.whole(bytes.length || 1);
    switch (random.whole(6)) {
      case 0:
        if (bytes.length > 0) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.whole(8));
        break;
      case 1: {
        const field = random.pick([0, 4, 8, 12, 16, 20]);
        if (bytes.length >= field + 4) bytes.writeInt32BE(random.pick(odd), field);
        break;
      }
      case 2:
        bytes = bytes.subarray(0, at);
        break;
      case 3:
        bytes = Buffer.concat([bytes, Buffer.from(Array.from({ length: random.whole(200) }, () => random.whole(256)))]);
        break;
      case 4:
        bytes = Buffer.concat([bytes.subarray(0, at), bytes]);
        break;
      default:
        for (let index = 0; index < bytes.length; index += 1) if (random.chance(0.1)) bytes[index] = random.whole(256);
    }
  }
  return bytes;
}
