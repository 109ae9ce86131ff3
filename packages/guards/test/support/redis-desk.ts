import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { fenced, type RedisClient } from '../../src/redis.ts';
import type { Desk } from './desk.ts';

type Send = (...words: string[]) => Promise<unknown>;

export async function redisClient(
  library: 'ioredis' | 'redis',
  port: number,
): Promise<{ client: RedisClient; send: Send; end: () => void }> {
  if (library === 'ioredis') {
    const client = new Redis({ host: '127.0.0.1', port });
    client.on('error', () => undefined); // the server ends
    return { client, send: (name, ...words) => client.call(name, ...words), end: () => client.disconnect() };
  }
  const client = createClient({ socket: { host: '127.0.0.1', port } });
  client.on('error', () => undefined);
  await client.connect();
  return {
    client,
    send: (...words) => client.sendCommand(words),
    end: () => client.destroy(),
  };
}

export async function redisDesk(library: 'ioredis' | 'redis', port: number): Promise<Desk> {
  const { client, send, end } = await redisClient(library, port);
  return {
    fenced: (hold, job, options) =>
      fenced(client, hold, (tx) => job((text) => void tx.command('RPUSH', 'written', text)), options),
    async unguarded(job) {
      const texts: string[] = [];
      await job((text) => void texts.push(text));
      await send('RPUSH', 'written', ...texts);
    },
    written: async () => (await send('LRANGE', 'written', '0', '-1')) as string[],
    async guardOf(key) {
      const text = (await send('GET', `lock-fence:${key}`)) as string | null;
      return text?.split(':').slice(0, 2).map(BigInt).join(':');
    },
    async setGuard(key, ...numbers) {
      await send('SET', `lock-fence:${key}`, numbers.map((number) => String(number).padStart(20, '0')).join(':'));
    },
    clear: async () => {
      await send('DEL', 'written');
    },
    [Symbol.asyncDispose]: async () => end(),
  };
}
