import { expect } from 'chai';
import { within } from '../../demo/within.ts';

describe("the demo's within", () => {
  const never = new Promise(() => undefined);

  it('is settled when the work fulfils or rejects', async () => {
    expect(await within(10_000, Promise.resolve('done'))).to.equal('settled');
    expect(await within(10_000, Promise.reject(new Error('failed')))).to.equal('settled');
  });

  it('is late when the limit has passed', async () => {
    expect(await within(0, never)).to.equal('late');
  });
});
