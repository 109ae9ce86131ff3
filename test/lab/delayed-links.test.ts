import { expect } from 'chai';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { DelayedLinks } from '../../bench/links/delayed-links.ts';

const delayMs = 60;

describe('a delayed link', () => {
  const echo = createServer((socket) => socket.pipe(socket));
  let links: DelayedLinks;
  let near: Socket;

  before(async () => {
    await once(echo.listen(0, '127.0.0.1'), 'listening');
    links = await DelayedLinks.start();
    near = connect(await links.open((echo.address() as AddressInfo).port, delayMs), '127.0.0.1');
    await once(near, 'connect');
  });

  after(async () => {
    near.destroy();
    await links[Symbol.asyncDispose]();
    await once(echo.close(), 'close');
  });

  const received = async (bytes: number): Promise<Buffer> => {
    const chunks: Buffer[] = [];
    while (chunks.reduce((all, { length }) => all + length, 0) < bytes)
      chunks.push(...((await once(near, 'data')) as [Buffer]));
    return Buffer.concat(chunks);
  };

  it('delays both directions', async () => {
    const askedAt = performance.now();
    near.write('x');
    await received(1);
    expect(performance.now() - askedAt).to.be.at.least(2 * delayMs - 1);
  });

  it('carries the bytes in their order, and many of them while the first ones are on their way', async () => {
    const sent = Buffer.from(Array.from({ length: 4_000_000 }, (_, index) => index % 251));
    const askedAt = performance.now();
    const answer = received(sent.length);
    near.write(sent);
    expect((await answer).equals(sent)).to.equal(true);
    // One chunk of 64 KB a round trip would take 7.3 s.
    expect(performance.now() - askedAt).to.be.below(7_000);
  });

  it('carries the end', async () => {
    near.end();
    await once(near, 'end');
  });
});
