import { expect } from 'chai';
import { freePorts, isFree, onFreshPorts, PortTakenError } from '../../lab/servers/free-port.ts';
import { startSilentServer } from '../../lab/servers/silent-server.ts';

describe('free ports', () => {
  it('are different, and below the ephemeral range', async () => {
    const ports = await freePorts(20);
    expect(new Set(ports).size).to.equal(20);
    expect(Math.max(...ports)).to.be.below(32_768);
  });

  it('are ports on which no process listens', async () => {
    const server = await startSilentServer();
    expect(await isFree(server.port)).to.equal(false);
    await server.close();
    expect(await isFree(server.port)).to.equal(true);
  });

  it('are chosen again if one of them is taken meanwhile', async () => {
    const tried: number[] = [];
    const port = await onFreshPorts(1, ([candidate = 0]) => {
      tried.push(candidate);
      return tried.length < 3 ? Promise.reject(new PortTakenError()) : Promise.resolve(candidate);
    });
    expect([tried.length, tried.at(-1)]).to.deep.equal([3, port]);
  });

  it('are not chosen again without a limit', async () => {
    let tries = 0;
    const failure = await onFreshPorts(1, () => (tries++, Promise.reject(new PortTakenError()))).catch(
      (error: unknown) => error,
    );
    expect(failure).to.be.instanceOf(PortTakenError);
    expect(tries).to.equal(5);
  });

  it('are not chosen again after another failure', async () => {
    let tries = 0;
    const failure = await onFreshPorts(1, () => (tries++, Promise.reject(new Error('other')))).catch(
      (error: unknown) => error,
    );
    expect([String(failure), tries]).to.deep.equal(['Error: other', 1]);
  });
});
