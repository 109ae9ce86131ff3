import { hostname } from 'node:os';
import { expect } from 'chai';
import { ownerData, ownerIn, thisOwner } from '../../src/internals/znode/znode-data.ts';

describe('the owner of a lock', () => {
  it('is read from its data, and equals the owner as it sees itself', () => {
    expect(ownerIn(ownerData(), '0x1'))
      .to.deep.equal(thisOwner('0x1'))
      .and.to.deep.equal({ host: hostname(), pid: process.pid, sessionId: '0x1' });
  });

  for (const data of [
    '',
    '127.0.0.1',
    '__REVOKE__',
    '{',
    '{}',
    'null',
    '[1]',
    '{"host":"a"}',
    '{"pid":7}',
    '{"host":7,"pid":7}',
    '{"host":"a","pid":"7"}',
    '{"host":"a","pid":1.5}',
    '{"host":"","pid":7}',
    '{"host":"a\\u001b[31m","pid":7}',
    '{"host":"a\\nb","pid":7}',
    '{"host":"a b","pid":7}',
    '{"host":"a\\u202eb","pid":7}',
    `{"host":"${'a'.repeat(600)}","pid":7}`,
  ])
    it(`is unknown in ${JSON.stringify(data.slice(0, 40))}`, () => {
      expect(ownerIn(Buffer.from(data), '0x1')).to.equal(undefined);
    });

  it('may have a host name in any language', () => {
    expect(ownerIn(Buffer.from('{"host":"Zoës-Büro’s_1","pid":7}'), '0x1')?.host).to.equal('Zoës-Büro’s_1');
  });

  it('consists of host and pid, and ignores other fields', () => {
    expect(ownerIn(Buffer.from('{"host":"a","pid":7,"sessionId":"0x2","more":1}'), '0x1')).to.deep.equal({
      host: 'a',
      pid: 7,
      sessionId: '0x1',
    });
  });
});
