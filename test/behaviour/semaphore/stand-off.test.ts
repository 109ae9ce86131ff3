import { expect } from 'chai';
import { InterProcessMutex } from '../../../src/index.ts';
import { createSequential, openAcl, sync } from '../../../src/zookeeper/wire/operations.ts';
import { StandOff, type PartOfLeases } from '../../../src/semaphore/stand-off.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { ManualClock } from '../../../lab/manual-clock.ts';
import { until } from '../../../lab/until.ts';
import { crowd, isEmpty, returnAll, semaphoreOf, waits } from '../../../lab/semaphores.ts';

const standstillMs = 1_500;

describe('acquireMany with a part of its leases', () => {
  const lab = labOfEachTest('stand-off');

  /** Creates a lease of one session, as Java does. */
  const takeAsJava = async (client = lab.other): Promise<string> => {
    const { value } = await client.session.request(
      createSequential(`${lab.path}/leases/_c_9d3a40af-0a1b-4c2d-8e3f-405162738495-lease-`, new Uint8Array(0), openAcl),
    );
    return value.path;
  };

  it('gives way to a session that has the other one, and gets both in the end', async () => {
    const gate = await semaphoreOf(lab.other, lab.path, 2).acquire();
    const java = await takeAsJava();
    await gate.release();
    const ours = semaphoreOf(lab.client, lab.path, 2).acquireMany(2);
    await waits(lab.observer, lab.path, 3);
    const second = await new InterProcessMutex(lab.other, `${lab.path}/locks`).acquire();
    // A Java client now holds the inner mutex for its second lease, and no other client has a lease.
    expect(second.isValid).to.equal(true);
    await crowd(lab.observer, lab.path, { leases: 1, locks: 2 });
    await lab.observer.remove(java);
    await second.release();
    await returnAll(await ours);
    await isEmpty(lab.observer, lab.path);
  });

  describe('in a stand-off', () => {
    let clock: ManualClock;
    let standOff: StandOff;

    beforeEach(async () => {
      clock = new ManualClock();
      standOff = new StandOff(clock);
      await (await semaphoreOf(lab.client, lab.path, 2).acquire()).release();
    });

    const part = async (turn = ''): Promise<PartOfLeases> => {
      // A member of an ensemble that lags does not show what other clients have written, and the look does not ask again.
      await lab.client.session.request(sync('/'));
      const sorted = [...(await lab.observer.children(`${lab.path}/leases`)), 'ours'];
      return {
        session: lab.client.session,
        locks: `${lab.path}/locks`,
        leases: `${lab.path}/leases`,
        turn,
        sorted,
        index: sorted.length - 1,
        own: [],
      };
    };
    const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

    it('never gives way to a client of this library', async () => {
      const theirs = await semaphoreOf(lab.other, lab.path, 2).acquire();
      const turn = await new InterProcessMutex(lab.client, `${lab.path}/locks`).acquire();
      const behind = semaphoreOf(lab.other, lab.path, 2).acquire();
      await crowd(lab.observer, lab.path, { leases: 1, locks: 2 });
      for (let look = 0; look < 3; look += 1) {
        expect(await standOff.look(await part(nameOf(turn.path)))).to.equal(Infinity);
        clock.advance(standstillMs);
      }
      await turn.release();
      await returnAll([theirs, await behind]);
    });

    it('does not give way before the leases have been unchanged for a while', async () => {
      await takeAsJava();
      const turn = await new InterProcessMutex(lab.client, `${lab.path}/locks`).acquire();
      const behind = new InterProcessMutex(lab.other, `${lab.path}/locks`).acquire();
      await crowd(lab.observer, lab.path, { leases: 1, locks: 2 });
      expect(await standOff.look(await part(nameOf(turn.path)))).to.equal(standstillMs);
      clock.advance(standstillMs - 1);
      expect(await standOff.look(await part(nameOf(turn.path)))).to.equal(1);
      await takeAsJava();
      expect(await standOff.look(await part(nameOf(turn.path)))).to.equal(standstillMs);
      clock.advance(standstillMs);
      expect(await standOff.look(await part(nameOf(turn.path)))).to.equal('gives way');
      await turn.release();
      await (await behind).release();
    });

    it('does not give way while a client has a lease and waits for nothing', async () => {
      await takeAsJava();
      await takeAsJava(lab.client);
      const turn = await new InterProcessMutex(lab.client, `${lab.path}/locks`).acquire();
      const behind = new InterProcessMutex(lab.other, `${lab.path}/locks`).acquire();
      await crowd(lab.observer, lab.path, { leases: 2, locks: 2 });
      await standOff.look(await part(nameOf(turn.path)));
      clock.advance(standstillMs);
      expect(await standOff.look(await part(nameOf(turn.path)))).to.equal(standstillMs);
      await turn.release();
      await (await behind).release();
    });

    it('does not give way if no client behind it has a lease', async () => {
      await takeAsJava();
      const turn = await new InterProcessMutex(lab.client, `${lab.path}/locks`).acquire();
      const behind = new InterProcessMutex(lab.client, `${lab.path}/locks`).acquire();
      await until('one acquire is behind', async () => (await lab.observer.children(`${lab.path}/locks`)).length === 2);
      await standOff.look(await part(nameOf(turn.path)));
      clock.advance(standstillMs);
      expect(await standOff.look(await part(nameOf(turn.path)))).to.equal(standstillMs);
      await turn.release();
      await (await behind).release();
    });
  });
});
