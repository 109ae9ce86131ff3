import { expect } from 'chai';
import { describeHosts, parseConnectString } from '../../src/zookeeper/wire/connect-string.js';
import { InvalidPathError } from '../../src/zookeeper/wire/path.js';

describe('a connect string', () => {
  const zk1 = { host: 'zk1', port: 2181 };
  const taken: [string, { hosts: { host: string; port: number }[]; chroot: string }][] = [
    ['zk1', { hosts: [zk1], chroot: '' }],
    ['zk1:2182', { hosts: [{ host: 'zk1', port: 2182 }], chroot: '' }],
    [
      'zk1:1,zk2:65535',
      {
        hosts: [
          { host: 'zk1', port: 1 },
          { host: 'zk2', port: 65535 },
        ],
        chroot: '',
      },
    ],
    [' zk1 ,\tzk2:2182\n', { hosts: [zk1, { host: 'zk2', port: 2182 }], chroot: '' }],
    ['zk1,zk1', { hosts: [zk1, zk1], chroot: '' }],
    ['zk1/', { hosts: [zk1], chroot: '' }],
    ['zk1/app/locks', { hosts: [zk1], chroot: '/app/locks' }],
    ['zk1 /user@app', { hosts: [zk1], chroot: '/user@app' }],
    ['127.0.0.1:2181', { hosts: [{ host: '127.0.0.1', port: 2181 }], chroot: '' }],
    ['my_zk-1.example.org.', { hosts: [{ host: 'my_zk-1.example.org.', port: 2181 }], chroot: '' }],
    ['bücher.example', { hosts: [{ host: 'bücher.example', port: 2181 }], chroot: '' }],
    ['[::1]', { hosts: [{ host: '::1', port: 2181 }], chroot: '' }],
    [
      '[::1]:2182,[fe80::1%eth0]:1/app',
      {
        hosts: [
          { host: '::1', port: 2182 },
          { host: 'fe80::1%eth0', port: 1 },
        ],
        chroot: '/app',
      },
    ],
  ];
  for (const [text, parsed] of taken)
    it(`may be ${JSON.stringify(text)}`, () => {
      expect(parseConnectString(text)).to.deep.equal(parsed);
    });

  const refused: [unknown, string][] = [
    [undefined, ', got undefined'],
    [null, ', got null'],
    [{ credentials: 'user:secret' }, ', got an object with "credentials"'],
    [7, ', got 7'],
    [['zk1', 'zk2'], ', got an array: join the hosts by commas'],
    ['', ', got "": it names no host'],
    [' ', 'it names no host'],
    ['/app', 'it names no host'],
    [',', 'it has an empty host'],
    ['zk1,', 'it has an empty host'],
    ['zk1, ,zk2', 'it has an empty host'],
    [':2181', '":2181" has no host'],
    ['zk1:', 'the port of "zk1:" must be a whole number from 1 to 65535'],
    ['zk1:0', 'the port of "zk1:0" must be'],
    ['zk1,zk2:65536', 'the port of "zk2:65536" must be'],
    ['zk1:x', 'the port of "zk1:x" must be'],
    ['zk1:-1', 'the port of "zk1:-1" must be'],
    ['zk1:1e3', 'the port of "zk1:1e3" must be'],
    ['zk1: 2181', 'the port of "zk1: 2181" must be'],
    ['zk1:21.5', 'the port of "zk1:21.5" must be'],
    ['zk 1', '"zk 1" is neither a host name nor an IP address'],
    ['zk1;zk2', '"zk1;zk2" is neither a host name nor an IP address'],
    ['zk1:2181:2182', '"zk1:2181:2182" is neither a host name nor an IP address'],
    ['::1', '"::1" is an IPv6 address and needs brackets, as in [::1]:2181'],
    ['::1:44097', '"::1:44097" is an IPv6 address and needs brackets, as in [::1]:2181'],
    ['1:2:3:4:5:6:7:8:2181', '"1:2:3:4:5:6:7:8:2181" is an IPv6 address and needs brackets, as in [::1]:2181'],
    ['zk1,fe80::1:2181', '"fe80::1:2181" is an IPv6 address and needs brackets, as in [::1]:2181'],
    ['[]', '"[]" has no host'],
    ['[zk1]:2181', '"[zk1]:2181" is neither a host name nor an IP address'],
    ['[127.0.0.1]', '"[127.0.0.1]" is neither'],
    ['[::1', '"[::1" is neither'],
    ['[::1]2181', '"[::1]2181" is neither'],
    ['[::1]:0', 'the port of "[::1]:0" must be'],
    ['zk1/app/', 'Path must not end with / character'],
    ['zk1//app', 'empty node name specified @1'],
    ['zk1/app ', 'its chroot ends with white space'],
    ['zk1/ ', 'its chroot ends with white space'],
    ['zk1/a,zk2/a\n', 'its chroot ends with white space'],
    ['a:1/app,b:2/app', 'its chroot "/app,b:2/app" contains a comma; the chroot stands once, behind the last host'],
    ['zk://zk1:2181/app', 'leave out the scheme'],
  ];
  for (const [text, why] of refused)
    it(`may not be ${JSON.stringify(text)}: ${why}`, () => {
      expect(() => parseConnectString(text)).to.throw(TypeError, why);
    });

  it("is refused with the option's name, its value and the accepted values", () => {
    const message = 'Expected `connectString` to be host[:port][,host[:port]…][/chroot], got "zk1:0": ';
    expect(() => parseConnectString('zk1:0')).to.throw(TypeError, message);
  });

  it('is refused for its chroot with the InvalidPathError as the cause', () => {
    expect(() => parseConnectString('zk1/a/../b'))
      .to.throw(TypeError)
      .with.property('cause')
      .that.is.instanceOf(InvalidPathError);
  });

  for (const text of ['user:secret@zk1:2181', 'zk1,user:secret@zk2/app', 'zk://user:secret@zk1:2181,zk2/app'])
    it(`is refused without the secret of ${text} in the message`, () => {
      expect(() => parseConnectString(text))
        .to.throw(TypeError, '***@')
        .with.property('message')
        .that.does.not.include('secret');
    });
});

describe('describeHosts', () => {
  it('writes out the ports, puts IPv6 addresses in brackets, and omits the chroot', () => {
    expect(describeHosts(parseConnectString('zk1,[::1]:2182/app'))).to.equal('zk1:2181,[::1]:2182');
  });
});
