import { expect } from 'chai';
import fc from 'fast-check';
import { describeHosts, parseConnectString } from '../../src/zookeeper/wire/connect-string.js';

const hosts = fc.oneof(fc.domain(), fc.ipV4(), fc.ipV6(), fc.stringMatching(/^[a-z0-9_-]{1,10}$/));
const servers = fc.record({ host: hosts, port: fc.integer({ min: 1, max: 65_535 }) }, { noNullPrototype: true });
const chroots = fc
  .array(fc.stringMatching(/^[a-z0-9_@:[\]-]{1,8}$/), { maxLength: 3 })
  .map((names) => names.map((name) => `/${name}`).join(''));
const connectStrings = fc.record(
  { hosts: fc.array(servers, { minLength: 1, maxLength: 5 }), chroot: chroots },
  { noNullPrototype: true },
);

describe('a connect string with any parts', () => {
  it('is parsed back into the parts that it was printed from', () => {
    fc.assert(
      fc.property(connectStrings, (parts) => {
        expect(parseConnectString(describeHosts(parts) + parts.chroot)).to.deep.equal(parts);
      }),
    );
  });

  it('means the same with white space around its hosts', () => {
    const space = fc.stringMatching(/^[ \t\n]{0,3}$/);
    fc.assert(
      fc.property(connectStrings, space, space, (parts, before, after) => {
        const spaced = describeHosts(parts)
          .split(',')
          .map((server) => before + server + after)
          .join(',');
        expect(parseConnectString(spaced + parts.chroot)).to.deep.equal(parts);
      }),
    );
  });

  it('means port 2181 if it names none', () => {
    fc.assert(
      fc.property(fc.array(fc.domain(), { minLength: 1, maxLength: 5 }), (names) => {
        expect(parseConnectString(names.join(',')).hosts).to.deep.equal(names.map((host) => ({ host, port: 2181 })));
      }),
    );
  });

  it('is either parsed into usable hosts or refused with a TypeError, never anything else', () => {
    const texts = fc.oneof(fc.string(), fc.stringMatching(/^[a-z0-9:,/[\]. @-]{0,20}$/));
    fc.assert(
      fc.property(texts, (text) => {
        try {
          const parsed = parseConnectString(text);
          for (const { port } of parsed.hosts) expect(port).to.be.within(1, 65_535);
          expect(parseConnectString(describeHosts(parsed) + parsed.chroot)).to.deep.equal(parsed);
        } catch (error) {
          expect(error).to.be.instanceOf(TypeError).with.property('message').that.includes('`connectString`');
        }
      }),
    );
  });
});
