import { expect } from 'chai';
import { callSite } from '../../src/support/call-site.ts';

describe('where the application has called the library', () => {
  const asked = (): string => callSite();

  it('is told by the innermost frames outside of the library, as one line', () => {
    function handler(): string {
      return asked();
    }
    const place = handler();
    expect(place).to.match(
      /^asked \(.*call-site\.test\.ts:\d+:\d+\), called by handler \(.*call-site\.test\.ts:\d+:\d+\), called by /,
    );
    expect(place).not.to.contain('src/support').and.not.to.contain('\n');
  });

  it('is told for a stack deeper than Error.stackTraceLimit, which stays as it is', () => {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    try {
      expect(asked()).to.contain('call-site.test.ts');
      expect(Error.stackTraceLimit).to.equal(0);
    } finally {
      Error.stackTraceLimit = stackTraceLimit;
    }
  });

  it('is unknown where the application makes something else of stacks', () => {
    const { prepareStackTrace } = Error;
    Error.prepareStackTrace = (_error, frames) => frames;
    try {
      expect(asked()).to.equal('an unknown place');
    } finally {
      Error.prepareStackTrace = prepareStackTrace;
    }
  });
});
