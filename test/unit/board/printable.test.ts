import { expect } from 'chai';
import { checkedLog } from '../../../src/client/options/logger.ts';
import { LockLostError } from '../../../src/client/report/lock-lost-error.ts';
import { ZooKeeperError } from '../../../src/zookeeper/wire/zookeeper-error.ts';
import { ageText, fitted } from '../../../packages/zklock/src/cli/observe/column.ts';
import { printable, printableJson, printableLines } from '../../../src/support/printable.ts';

describe('what the terminal shows', () => {
  it('has no control character, no C1 character and nothing that turns the direction of the text', () => {
    expect(printable('a\u001b[31mb\u009bc\r\nd\u202ee\u2066f')).to.equal(
      'a\\u001b[31mb\\u009bc\\u000d\\u000ad\\u202ee\\u2066f',
    );
    expect(printable('Grüße, 日本語')).to.equal('Grüße, 日本語');
  });

  it('keeps lines and JSON as they are', () => {
    expect(printableLines('a\nb\u009b\r')).to.equal('a\nb\\u009b\\u000d');
    const value = { data: 'evil\u009b\u202e\n"' };
    for (const indent of [undefined, 2]) {
      const text = printableJson(value, indent);
      expect(JSON.parse(text)).to.deep.equal(value);
      expect(text).not.to.match(/[\u009b\u202e]/);
    }
  });

  it('is so in errors and in the lines of a log', () => {
    const error = new LockLostError('/locks/\u009b2Jevil\u202e', 'session-deadline');
    expect(error.message).to.contain('\\u009b2Jevil\\u202e');
    expect(new ZooKeeperError(-101, 'getData', '/a\u202eb').message).to.contain('/a\\u202eb');
    const lines: string[] = [];
    checkedLog({ warn: (_details, text) => lines.push(text) }).warn('of /a\u009bb');
    expect(lines).to.deep.equal(['of /a\\u009bb']);
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
