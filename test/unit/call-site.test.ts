import { expect } from 'chai';
import { callSite } from '../../src/support/call-site.ts';

describe('the place where the application has called the library', () => {
  const asked = (): string => callSite();

  it('is shown as the innermost frames outside of the library, on one line', () => {
    function handler(): string {
      return asked();
    }
    const place = handler();
    expect(place).to.match(
      /^asked \(.*call-site\.test\.ts:\d+:\d+\), called by handler \(.*call-site\.test\.ts:\d+:\d+\), called by /,
    );
    expect(place).not.to.contain('src/support').and.not.to.contain('\n');
  });

  it('is also found in a stack deeper than Error.stackTraceLimit, which keeps its value', () => {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      expect(asked()).to.contain('call-site.test.ts');
      expect(Error.stackTraceLimit).to.equal(0);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  });

  it('is unknown if the application’s Error.prepareStackTrace throws, and Error.stackTraceLimit keeps its value', () => {
    const { prepareStackTrace, stackTraceLimit } = Error;
    Error.prepareStackTrace = () => {
      throw new RangeError('from the application');
    };
    try {
      const place = asked();
      expect([place, Error.stackTraceLimit]).to.deep.equal(['an unknown place', stackTraceLimit]);
    } finally {
      Error.prepareStackTrace = prepareStackTrace;
    }
  });

  it('is unknown if the application has made Error.stackTraceLimit read-only', () => {
    Object.defineProperty(Error, 'stackTraceLimit', { writable: false });
    try {
      expect(asked()).to.equal('an unknown place');
    } finally {
      Object.defineProperty(Error, 'stackTraceLimit', { writable: true });
    }
  });

  it('is unknown if the application formats stacks in its own way', () => {
    const { prepareStackTrace } = Error;
    Error.prepareStackTrace = (_error, frames) => frames;
    try {
      expect(asked()).to.equal('an unknown place');
    } finally {
      Error.prepareStackTrace = prepareStackTrace;
    }
  });
});
