import { expect } from 'chai';
import { participantName } from '../../../packages/zklock/src/board/participant-name.ts';

const uuid = '6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a';
const hex = uuid.replaceAll('-', '');

describe('the names of participants', () => {
  for (const [name, is] of [
    ['lock-0000000007', 'lock'],
    [`_c_${uuid}-lock-0000000007`, 'lock'],
    [`_c_${hex}-lock-0000000007`, 'lock'],
    [`_c_${uuid}-__READ__0000000007`, 'read'],
    [`_c_${uuid}-__WRIT__0000000007`, 'write'],
    [`_c_${uuid}-lease-0000000007`, 'lease'],
    [`_c_${uuid}-latch-0000000007`, 'latch'],
    [`_c_${uuid}-lock-+03x10-0000000007`, 'weighted'],
    [`${hex}__lock__0000000007`, 'kazoo-lock'],
    [`${hex}__rlock__0000000007`, 'read'],
  ] as const)
    it(`read ${name} as a ${is}`, () => {
      expect(participantName(name)).to.include({ is, key: '0000000007', sequence: 7 });
    });

  it('keep the sign of a number after an overflow', () => {
    expect(participantName('lock--000000001')).to.include({ key: '-000000001', sequence: -1 });
  });

  it("keep the sign of kazoo's number after an overflow", () => {
    expect(participantName(`${hex}__lock__-2147483648`)).to.include({ is: 'kazoo-lock', sequence: -2_147_483_648 });
  });

  for (const name of [
    'locks',
    'orders-0000000001',
    'my-lock-0000000001',
    'lock-42',
    'lock-00000000042',
    'lock-',
    `${hex}__lock__1`,
    `${hex}__lock__00000000001`,
    `${hex}__lock__`,
    `${hex}__wlock__0000000001`,
    `${uuid}__lock__0000000001`,
    `x${hex}__lock__0000000001`,
    `${hex}__lock__0000000001.bak`,
    '',
  ])
    it(`leave ${name || 'the empty name'} alone`, () => {
      expect(participantName(name)).to.equal(undefined);
    });
});
