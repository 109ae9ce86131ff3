import { expect } from 'chai';
import { readConnectResponse } from '../../src/zookeeper/wire/connect-response.ts';
import { connectResponse } from '../../lab/servers/fake-server.ts';

const id = 0x1000_0000_1234n;
const read = (fields: Parameters<typeof connectResponse>[0]) => readConnectResponse(connectResponse(fields));

describe('a ConnectResponse', () => {
  it('grants a session with its id, its password and its timeout', () => {
    expect(read({})).to.deep.equal({ timeoutMs: 4_000, sessionId: id, password: Buffer.alloc(16, 7) });
    expect(read({}).sessionId).to.equal(id);
  });

  it('reports with a timeout of 0 or less that the session is over', () => {
    for (const timeoutMs of [0, -1, -(2 ** 31)]) expect(read({ timeoutMs, sessionId: 0n }).timeoutMs).to.equal(0);
  });

  it('may lack the last field, which servers before 3.4 do not send, and may have more bytes after it', () => {
    const whole = connectResponse();
    expect(readConnectResponse(whole.subarray(0, -1)).sessionId).to.equal(id);
    expect(readConnectResponse(Buffer.concat([whole, Buffer.alloc(100, 255)])).sessionId).to.equal(id);
  });

  for (const [what, fields, reason] of [
    ['with a password of 2³¹ - 1 bytes', { passwordLength: 2 ** 31 - 1 }, 'A session password of 2147483647 bytes'],
    ['with a password of 65 bytes', { password: Buffer.alloc(65) }, 'A session password of 65 bytes'],
    ['with a password of -1 bytes', { passwordLength: -1 }, 'A session password of -1 bytes'],
    ['with a password of -2³¹ bytes', { passwordLength: -(2 ** 31) }, 'A session password of -2147483648 bytes'],
    ['with a password that is cut short', { passwordLength: 60 }, 'A record of length 60 is cut short'],
    ['that grants 1 ms', { timeoutMs: 1 }, 'The server granted a session timeout of 1 ms: at least 100 ms are needed'],
    ['that grants 99 ms', { timeoutMs: 99 }, 'The server granted a session timeout of 99 ms'],
    ['with session id 0', { sessionId: 0n }, 'The server granted a session without an id'],
    ['of a read-only server', { readOnly: true }, 'The server is read-only'],
  ] as const)
    it(`${what} is refused`, () => {
      expect(() => read(fields)).to.throw(RangeError, reason);
    });

  it('that grants 100 ms is accepted', () => {
    expect(read({ timeoutMs: 100 }).timeoutMs).to.equal(100);
  });

  it('that is cut short anywhere before its last field is refused', () => {
    const whole = connectResponse();
    for (let length = 4; length < whole.length - 1; length += 1)
      expect(() => readConnectResponse(whole.subarray(0, length)), `${length} bytes`).to.throw(RangeError);
  });
});
