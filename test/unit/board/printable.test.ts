import { expect } from 'chai';
import { ageText, fitted, printable } from '../../../src/cli/observe/printable.ts';

describe('what the terminal shows', () => {
  it('has no control character, no C1 character and nothing that turns the direction of the text', () => {
    expect(printable('a\u001b[31mb\u009bc\r\nd\u202ee\u2066f')).to.equal(
      'a\\u001b[31mb\\u009bc\\u000d\\u000ad\\u202ee\\u2066f',
    );
    expect(printable('Grüße, 日本語')).to.equal('Grüße, 日本語');
  });

  it('fits its column, and shows a cut', () => {
    expect([fitted('abc', 5), fitted('abcdef', 5), fitted('abc', 0)]).to.deep.equal(['abc  ', 'abcd…', '']);
  });

  for (const [ms, text] of [
    [-5, '0s'],
    [59_999, '59s'],
    [130_000, '2m 10s'],
    [11_100_000, '3h 05m'],
    [187_200_000, '2d 04h'],
  ] as const)
    it(`writes ${ms} ms as ${text}`, () => expect(ageText(ms)).to.equal(text));
});
