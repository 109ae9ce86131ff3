// A transfer between two accounts holds the locks of both. The order of the paths does not matter, so two transfers in opposite
// directions never wait for each other without end.
import assert from 'node:assert/strict';
import { LockClient, lockKey } from 'zookeeper-fair-lock';
import { EmbeddedZooKeeper } from '@zookeeper-fair-lock/testing';

const zk = await EmbeddedZooKeeper.start(); // stands for the servers of production
await using client = await LockClient.connect(zk.connectString);
await using other = await LockClient.connect(zk.connectString);

const accounts = new Map([
  ['alice', 100],
  ['bob', 100],
]);
const lockOf = (name: string): string => `/locks/${lockKey('account', name)}`;

const transfer = (by: LockClient, from: string, to: string, amount: number): Promise<void> =>
  by.withLock(
    [lockOf(from), lockOf(to)],
    async (hold) => {
      const [ofSender = 0, ofReceiver = 0] = [accounts.get(from), accounts.get(to)];
      await new Promise((resolve) => setTimeout(resolve, 5)); // another transfer would be lost in between
      hold.assertValid();
      accounts.set(from, ofSender - amount).set(to, ofReceiver + amount);
    },
    { timeoutMs: 20_000 },
  );

const rounds = Array.from({ length: 10 }, () => [
  transfer(client, 'alice', 'bob', 7),
  transfer(other, 'bob', 'alice', 3),
]);
await Promise.all(rounds.flat());
assert.deepEqual([accounts.get('alice'), accounts.get('bob')], [60, 140]);

await client.close();
await other.close();
await zk.stop();
console.log('20 transfers in both directions, none was lost');
