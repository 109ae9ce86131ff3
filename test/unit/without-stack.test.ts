import { expect } from 'chai';
import { withoutStack } from '../../src/zookeeper/wire/replies.ts';

describe('an error without a stack', () => {
  it('has no frames, and the next error has them again', () => {
    expect(withoutStack(() => new Error('short')).stack).to.equal('Error: short');
    expect(new Error('long').stack).to.contain('without-stack.test');
  });

  it('leaves the limit as it was if its maker throws', () => {
    const { stackTraceLimit } = Error;
    const fail = (): never => {
      throw new TypeError('no error');
    };
    expect(() => withoutStack(fail)).to.throw('no error');
    expect(Error.stackTraceLimit).to.equal(stackTraceLimit);
  });

  it('has its stack where the application has frozen the class', () => {
    const before = Object.getOwnPropertyDescriptor(Error, 'stackTraceLimit') as PropertyDescriptor;
    Object.defineProperty(Error, 'stackTraceLimit', { ...before, writable: false });
    try {
      expect(withoutStack(() => new Error('whole')).stack).to.contain('without-stack.test');
    } finally {
      Object.defineProperty(Error, 'stackTraceLimit', before);
    }
  });
});
