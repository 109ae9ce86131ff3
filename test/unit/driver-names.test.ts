import { expect } from 'chai';
import {
  hasMarkedUuid,
  stickyUuid,
  SEQUENCE_MAX,
  findProtected,
  foreignNames,
  isSequenceNearOverflow,
  protectedPrefix,
  sequenceOf,
  sortKey,
  uuidOf,
} from '../../src/driver/names.js';

const uuid = '6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a';
const hex = uuid.replaceAll('-', '');
const curators = `_c_${uuid}-lock-0000000004`;
const goZookeepers = `_c_${hex}-lock-0000000005`;

describe('names of znodes', () => {
  it('show by the version of their uuid if they belong to a sticky lock', () => {
    const uuid = '6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a';
    expect(stickyUuid(uuid)).to.equal('6f1c2f7e-8a1e-8a53-9d7e-2b1f0c9d8e7a');
    expect(hasMarkedUuid(`_c_${stickyUuid(uuid)}-lock-0000000001`)).to.equal(true);
    for (const name of [
      `_c_${uuid}-lock-0000000001`,
      'lock-0000000001',
      `_c_${uuid.replaceAll('-', '')}-lock-0000000001`,
    ])
      expect(hasMarkedUuid(name), name).to.equal(false);
    expect(foreignNames([`_c_${stickyUuid(uuid)}-lock-0000000001`], 'lock-')).to.deep.equal([]);
  });

  it('have the protected prefix of Curator', () => {
    expect(protectedPrefix(uuid, 'lock-')).to.equal(`_c_${uuid}-lock-`);
  });

  describe('uuidOf', () => {
    it('finds the uuid as Curator and as go-zookeeper write it', () => {
      expect(uuidOf(curators)).to.equal(uuid);
      expect(uuidOf(goZookeepers)).to.equal(hex);
      expect(uuidOf(curators.toUpperCase().replace('_C_', '_c_'))).to.equal(uuid.toUpperCase());
    });

    for (const name of [
      'lock-0000000004',
      `${uuid}-lock-0000000004`,
      `_c_${uuid}`,
      `_c_${hex}0-lock-0000000004`,
      `x_c_${uuid}-`,
      '_c_-',
    ])
      it(`finds none in ${name}`, () => {
        expect(uuidOf(name)).to.equal(undefined);
      });
  });

  describe('findProtected', () => {
    it('finds the child that was created with the uuid', () => {
      expect(findProtected(['lock-0000000003', goZookeepers, curators], uuid)).to.equal(curators);
    });

    it('finds nothing by a part of a uuid, or by a uuid in the middle of a name', () => {
      expect(findProtected([curators], uuid.slice(0, -1))).to.equal(undefined);
      expect(findProtected([`x${curators}`], uuid)).to.equal(undefined);
    });
  });

  describe('sequenceOf', () => {
    const sequences: [string, number][] = [
      [curators, 4],
      ['lock-0000000000', 0],
      ['lock-2147483647', SEQUENCE_MAX],
      ['lock--2147483648', -(2 ** 31)],
      ['lock--000000001', -1],
      ['lock-0000000001-lock-0000000002', 2],
    ];
    for (const [name, sequence] of sequences)
      it(`of ${name} is ${sequence}`, () => {
        expect(sequenceOf(name, 'lock-')).to.equal(sequence);
      });

    for (const name of [
      'lock-',
      'lock-4',
      'lock-00000000004',
      'lock-2147483648',
      'lock--2147483649',
      'lock--0000000001',
      'lock--000000000',
      'lock-99999999999999999999',
      'lock-000000000x',
      'lock-0x00000001',
      'lock-        4 ',
      'lock-0000000004/',
      'lease-0000000004',
      '',
    ])
      it(`does not exist in ${JSON.stringify(name)}, which no server wrote`, () => {
        expect(sequenceOf(name, 'lock-')).to.equal(undefined);
      });

    it('is also read after another lock name', () => {
      expect(sequenceOf(`_c_${uuid}-__WRIT__0000000009`, '__WRIT__')).to.equal(9);
    });
  });

  describe('sortKey', () => {
    it('is the text after the last lock name, even if that is empty', () => {
      expect(sortKey(curators, 'lock-')).to.equal('0000000004');
      expect(sortKey('lock-a-lock-b', 'lock-')).to.equal('b');
      expect(sortKey('lock-', 'lock-')).to.equal('');
    });

    it('is the whole name without a lock name', () => {
      expect(sortKey('_c_x-lease-0000000004', 'lock-')).to.equal('_c_x-lease-0000000004');
    });
  });

  describe('foreignNames', () => {
    for (const name of [
      curators,
      goZookeepers,
      'lock-0000000004',
      'lock--2147483648',
      `_c_${uuid}-lock--000000001`,
      `${uuid}-lock-0000000004`,
      `${hex}-lock-0000000004`,
      `_c_${uuid.toUpperCase()}-lock-0000000004`,
    ])
      it(`leaves out ${name}`, () => {
        expect(foreignNames([name], 'lock-')).to.deep.equal([]);
      });

    for (const name of [
      `_c_${uuid}-__READ__0000000004`,
      `_c_${uuid}-__WRIT__0000000004`,
      `_c_${uuid}-lease-0000000004`,
      `${hex}__lock__0000000001`,
      `${hex}__rlock__0000000001`,
      'x-72057594037927936-0000000001',
      'config',
      'lock-',
      'lock-latest',
      'lock-0000000004.bak',
      'lock-4',
      'lock-2147483648',
      'block-0000000004',
      'my-lock-0000000004',
      `_c_${uuid}-my-lock-0000000004`,
      `_c_${uuid}lock-0000000004`,
      '_c_-lock-0000000004',
      `x_c_${uuid}-lock-0000000004`,
      `${uuid}-${uuid}-lock-0000000004`,
    ])
      it(`names ${name}`, () => {
        expect(foreignNames([name], 'lock-')).to.deep.equal([name]);
      });

    it('keeps the order of the list', () => {
      expect(foreignNames(['b', curators, 'a'], 'lock-')).to.deep.equal(['b', 'a']);
    });

    it('uses the given lock name', () => {
      const lease = `_c_${uuid}-lease-0000000004`;
      expect(foreignNames([curators, lease], 'lease-')).to.deep.equal([curators]);
    });
  });

  describe('isSequenceNearOverflow', () => {
    it('is false until a million numbers are left', () => {
      expect(isSequenceNearOverflow(0)).to.equal(false);
      expect(isSequenceNearOverflow(2_147_483_648 - 1_000_001)).to.equal(false);
      expect(isSequenceNearOverflow(2_147_483_648 - 1_000_000)).to.equal(true);
      expect(isSequenceNearOverflow(SEQUENCE_MAX)).to.equal(true);
    });

    it('stays true after the overflow', () => {
      expect(isSequenceNearOverflow(-2_147_483_648)).to.equal(true);
      expect(isSequenceNearOverflow(-1)).to.equal(true);
    });
  });
});
