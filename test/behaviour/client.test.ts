import { once } from 'node:events';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { testPath } from '../../lab/test-path.ts';
import { rejection } from '../../lab/until.ts';

describe('a client', () => {
  const lab = labOfEachTest('client', { client: 'none' });

  it('that is closed with an invalid option rejects and stays open', async () => {
    const client = await LockClient.connect(lab.connectString);
    const close = (options: unknown): Promise<Error> => rejection(client.close(options as Record<string, never>));
    expect(await close({ timeoutMs: -1 }))
      .to.be.instanceOf(RangeError)
      .with.property('message', 'Expected `timeoutMs` to be a finite number of milliseconds ≥ 0, got -1');
    expect(await close({ timeoutMs: '5' })).to.be.instanceOf(TypeError);
    expect(await close({ timeout: 5 }))
      .to.be.instanceOf(TypeError)
      .with.property('message', 'Unknown option `timeout` of close: accepted are timeoutMs');
    expect(await close(null)).to.be.instanceOf(TypeError);
    expect(await new InterProcessMutex(client, testPath('open')).withLock((hold) => hold.isValid)).to.equal(true);
    await client.close();
  });

  for (const [description, thrown] of Object.entries<unknown>({
    'an error': new Error('the logger is full'),
    'an error of another realm': runInNewContext("new Error('the logger is full')"),
    'a text': 'the logger is full',
  })) {
    it(`whose logger throws ${description} reports it as a process warning and continues`, async () => {
      const warn = (): never => {
        throw thrown;
      };
      await using client = await LockClient.connect(lab.connectString, { logger: { warn } });
      const warned = once(process, 'warning');
      client.host.report.warn('something happened', undefined);
      const [warning] = (await warned) as [Error];
      expect(warning.message).to.equal('the logger is full');
      expect(await new InterProcessMutex(client, testPath('logger')).withLock((hold) => hold.isValid)).to.equal(true);
    });

    it(`whose async logger rejects with ${description} reports it as a process warning`, async () => {
      const log = (): unknown => Promise.reject(thrown);
      await using client = await LockClient.connect(lab.connectString, { logger: { warn: log, info: log } });
      for (const level of ['warn', 'info', 'error'] as const) {
        const warned = once(process, 'warning');
        client.host.options.log[level]('something happened');
        const [warning] = (await warned) as [Error];
        expect(warning.message).to.equal('the logger is full');
      }
    });

    it(`whose listener throws ${description} reports it as a process warning and calls the other listeners`, async () => {
      const client = await LockClient.connect(lab.connectString);
      const states: string[] = [];
      client.on('state', () => {
        throw thrown;
      });
      client.on('state', (state) => void states.push(state));
      const warned = once(process, 'warning');
      await client.close();
      const [warning] = (await warned) as [Error];
      expect(warning.message).to.equal("zookeeper-fair-lock: a listener of 'state' failed: the logger is full");
      expect(states).to.deep.equal(['closed']);
    });
  }
});
