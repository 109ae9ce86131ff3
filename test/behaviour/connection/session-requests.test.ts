import { expect } from 'chai';
import { Deadline } from '../../../src/support/deadline.ts';
import { createPersistent, exists, getChildren, getData, openAcl } from '../../../src/zookeeper/wire/operations.ts';
import { watchZnode } from '../../../src/zookeeper/session/watches.ts';
import type { WatchEventType } from '../../../src/zookeeper/wire/operations.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection } from '../../../lab/until.ts';

const errors = { late: () => new Error('late'), closed: () => new Error('closed') };

describe('a session', () => {
  const lab = labOfEachTest('asks', { server: 'own', proxy: true, client: { sessionTimeoutMs: 4_000 } });
  /** A path below the root: no parents have to be created. */
  let path: string;
  const questions = (): number => lab.proxy.frames.filter(sent('getData')).length;

  beforeEach(() => {
    path = lab.path.replace(/(?<!^)\//g, '-');
  });

  describe('with a request whose reply is lost', () => {
    it('sends it again on the next connection', async () => {
      await lab.observer.create(path);
      once(lab.proxy, answered('getData'), 'cut');
      expect(await lab.client.session.ask(getData(path, false))).to.have.property('data');
      expect(questions()).to.equal(2);
    });

    it('sends all requests of the group again', async () => {
      await lab.observer.create(path);
      once(lab.proxy, answered('getData'), 'cut');
      const answer = await lab.client.session.ask(
        async (session) => [await session.find(getChildren(path)), await session.find(getData(path, false))] as const,
      );
      expect(answer?.[0]).to.deep.equal([]);
      expect(lab.proxy.frames.filter(sent('getChildren2'))).to.have.length(2);
    });

    it('does not send it again if the deadline may not wait', async () => {
      once(lab.proxy, sent('getData'), 'cut');
      const deadline = new Deadline(lab.client.host, path, errors, { mayWait: false });
      expect(await lab.client.session.ask(getData(path, false), deadline)).to.equal(undefined);
      deadline.dispose();
      expect(questions()).to.equal(1);
    });

    it('rejects when the deadline is over before there is a connection', async () => {
      await lab.disconnect();
      const deadline = new Deadline(lab.client.host, path, errors, { timeoutMs: 20 });
      expect((await rejection(lab.client.session.ask(getData(path, false), deadline))).message).to.equal('late');
      await lab.proxy.accept();
    });

    it('answers undefined when it has ended, while a client asks its next session', async () => {
      await lab.observer.create(path);
      const { session } = lab.client;
      const deadline = new Deadline(lab.client.host, path, errors, {});
      await lab.proxy.refuse();
      const [ofSession, ofClient] = [
        session.ask(getData(path, false)),
        lab.client.host.sessions.ask(getData(path, false), deadline),
      ];
      lab.proxy.cut();
      await lab.observer.endSession(lab.client);
      await lab.proxy.accept();
      expect(await ofSession).to.equal(undefined);
      expect(await ofClient).to.have.property('data');
      deadline.dispose();
      expect(lab.client.session).not.to.equal(session);
    });
  });

  it('rejects what a server refuses, and does not ask again', async () => {
    expect(await rejection(lab.client.session.ask(getData(path, false)))).to.have.property('code', 'NO_NODE');
    expect(questions()).to.equal(1);
  });

  describe('that watches', () => {
    it('a missing znode leaves no watch, neither now nor on the next connection', async () => {
      const { session } = lab.client;
      expect(await session.watches.plant(path, 'data', () => undefined)).to.equal(undefined);
      expect(await session.watches.plant(path, 'children', () => undefined)).to.equal(undefined);
      lab.proxy.clear();
      lab.proxy.cut();
      await lab.proxy.seen(answered('connect'));
      await session.ask(exists('/'));
      expect(lab.proxy.frames.filter(sent('setWatches'))).to.deep.equal([]);
      expect(session.isConnected).to.equal(true);
    });

    it('for a creation gets the event, and leaves no watch on an existing znode', async () => {
      const { session } = lab.client;
      const created = new Promise<WatchEventType>((resolve) => void session.watches.plant(path, 'creation', resolve));
      await lab.proxy.seen(answered('exists'));
      await lab.other.session.request(createPersistent(path, openAcl));
      expect(await created).to.equal('created');
      expect(await session.watches.plant(path, 'creation', () => undefined)).to.have.property('version', 0);
      expect((await lab.proxy.seen(answered('removeWatches'))).err).to.equal(0);
    });

    it('gets the current state, then one event, and nothing after the watch is removed', async () => {
      await lab.observer.create(path);
      const heard: string[] = [];
      const watch = (name: string): { stop: () => void; told: Promise<WatchEventType>; found: Promise<string[]> } => {
        let stop = (): void => undefined;
        let found = Promise.resolve<string[]>([]);
        const told = new Promise<WatchEventType>((tell, failed) => {
          found = new Promise(
            (find) => (stop = watchZnode(lab.client.session, path, 'children', { found: find, told: tell, failed })),
          );
        });
        void told.then((event) => heard.push(`${name} ${event}`));
        return { stop: () => stop(), told, found };
      };
      const [first, second] = [watch('first'), watch('second')];
      expect(await Promise.all([first.found, second.found])).to.deep.equal([[], []]);
      second.stop();
      await lab.observer.create(`${path}/child`);
      expect(await first.told).to.equal('children');
      expect(heard).to.deep.equal(['first children']);
    });

    it('gets a missing znode reported as a deletion', async () => {
      const told = new Promise((resolve) =>
        watchZnode(lab.client.session, path, 'data', { told: resolve, failed: resolve }),
      );
      expect(await told).to.equal('deleted');
    });

    it('learns that a reply was lost, and gets the next event on the next connection', async () => {
      await lab.observer.create(path);
      once(lab.proxy, answered('getData'), 'cut');
      const told: string[] = [];
      const event = new Promise((resolve) => {
        watchZnode(lab.client.session, path, 'data', {
          found: () => told.push('found'),
          lost: () => told.push('lost'),
          told: resolve,
          failed: () => told.push('failed'),
        });
      });
      await lab.proxy.seen(answered('setWatches'));
      await lab.observer.touch(path);
      expect(await event).to.equal('changed');
      expect(told).to.deep.equal(['lost']);
    });
  });
});
