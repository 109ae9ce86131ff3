import { expect } from 'chai';
import { FakeKerberos } from '../../lab/servers/fake-kerberos.ts';
import { gate } from '../../lab/gate.ts';
import { rejection } from '../../lab/until.ts';
import { GssapiHandshake, type KerberosLogin } from '../../packages/kerberos/src/gssapi-handshake.ts';
import { oneAtATime } from '../../packages/kerberos/src/kerberos.ts';
import { SaslRefusal, type SaslPeer } from '../../src/zookeeper/wire/sasl-handshake.ts';

const unspecified = 'Unspecified GSS failure.  Minor code may provide more information: ';
const refusal: SaslPeer['refusal'] = (why, text) => new SaslRefusal(why, text);
const nothing = Buffer.alloc(0);
/** The first byte of each message of GSSAPI is 0x60. */
const proof = Buffer.from('`proof');

describe('the authentication by GSSAPI', () => {
  let kerberos: FakeKerberos;
  let handshake: GssapiHandshake;

  const begin = (options: Partial<KerberosLogin> = {}): Promise<Buffer> => {
    const login = { kerberos, inTurn: oneAtATime(), ...options };
    handshake = new GssapiHandshake(login, { host: 'zk1', isConnected: () => true, refusal });
    return handshake.begin();
  };
  const refusalOf = async (run: () => unknown): Promise<SaslRefusal> => {
    const error: unknown = await rejection(Promise.resolve().then(run));
    if (error instanceof SaslRefusal) return error;
    throw error;
  };

  beforeEach(() => (kerberos = new FakeKerberos()));

  it('sends the ticket, an empty message and the choice of no layer, and then is accepted', async () => {
    expect(String(await begin())).to.equal('ticket');
    expect(await handshake.next(proof)).to.deep.equal(nothing);
    expect(String(await handshake.next(Buffer.from('offer')))).to.equal('choice');
    expect(handshake.next(nothing)).to.equal(undefined);
    expect(kerberos.calls).to.deep.equal(['initialize zookeeper@zk1', 'step ', 'step `proof', 'wrap 0100000000000000']);
  });

  it('asks for the proof of the server, and for no other mechanism than Kerberos', async () => {
    await begin();
    expect(kerberos.options).to.deep.equal({ principal: '', flags: 2, mechOID: 9 });
  });

  it('uses the names of the options', async () => {
    await begin({ servicePrincipal: 'zk/zookeeper.internal', principal: 'orders@INTERNAL' });
    expect(kerberos.calls[0]).to.equal('initialize zk@zookeeper.internal');
    expect(kerberos.options?.principal).to.equal('orders@INTERNAL');
  });

  it('without a ticket is refused, with the reason of Kerberos alone', async () => {
    kerberos.failure = `${unspecified}Server zookeeper/zk1@INTERNAL not found in Kerberos database`;
    const { why, message } = await refusalOf(() => begin());
    expect(why).to.equal('no-ticket');
    expect(message)
      .to.match(/^Kerberos gave this client no ticket for zookeeper\/zk1: Server zookeeper\/zk1@INTERNAL not found/)
      .and.contain('servicePrincipal and principal of kerberos()');
  });

  for (const reason of ["Cannot contact any KDC for realm 'INTERNAL'", 'unable to reach any KDC in realm INTERNAL'])
    it(`is no refusal if Kerberos says: ${reason}`, async () => {
      kerberos.failure = `${unspecified}${reason}`;
      const error = await rejection(begin());
      expect(error).not.to.be.instanceOf(SaslRefusal);
      expect(error.message).to.equal(`Kerberos gave this client no ticket for zookeeper/zk1: ${reason}`);
    });

  it('says what to check if the server refuses the ticket', async () => {
    await begin();
    expect(handshake.refusedText).to.match(/^the server refused the Kerberos ticket for zookeeper\/zk1: /);
  });

  it('is refused if the server has no SASL, or refuses the ticket and keeps the connection', async () => {
    await begin();
    const { why, message } = await refusalOf(() => handshake.next(nothing));
    expect(why).to.equal('no-sasl');
    expect(message).to.match(/^the server has no SASL .*, or the server refused the Kerberos ticket/);
    await begin();
    await handshake.next(proof);
    expect(await refusalOf(() => handshake.next(nothing))).to.have.property('why', 'account');
  });

  it('is refused if the answer is no message of GSSAPI, which is not given to Kerberos', async () => {
    await begin();
    const error = await refusalOf(() => handshake.next(Buffer.from('realm="zk-sasl-md5"')));
    expect(error.why).to.equal('server');
    expect(error.message).to.contain('could not prove that it is zookeeper/zk1').and.contain('Krb5LoginModule');
    expect(kerberos.calls).to.have.length(2);
  });

  it('is refused if the answer of the server is no proof', async () => {
    await begin();
    const error = await refusalOf(() => handshake.next(Buffer.from('`lie')));
    expect(error).to.include({ why: 'server' });
    expect(error.message).to.contain('could not prove that it is zookeeper/zk1: its answer is no proof');
  });

  it('is refused if Kerberos does not accept the answer of the server', async () => {
    await begin();
    kerberos.failure = 'Invalid token was supplied: Success';
    const error = await refusalOf(() => handshake.next(proof));
    expect(error).to.include({ why: 'server' });
    expect(error.message).to.equal('the server could not prove that it is zookeeper/zk1: Invalid token was supplied');
  });

  it('fails if the server answers what was not sent', () => {
    void begin();
    expect(() => handshake.next(proof)).to.throw('before there was one');
  });
});

describe('the calls of Kerberos', () => {
  it('come one after another, also after a failure', async () => {
    const inTurn = oneAtATime();
    const events: string[] = [];
    const call = (name: string, end: Promise<unknown>) =>
      inTurn(
        () => true,
        async () => {
          events.push(`${name} begins`);
          await end;
          events.push(`${name} ends`);
        },
      );
    const first = gate();
    const calls = [
      call('first', first.opened),
      call('second', Promise.reject(new Error('no ticket'))),
      call('third', Promise.resolve()),
    ];
    const ended = Promise.allSettled(calls);
    await Promise.resolve();
    expect(events).to.deep.equal(['first begins']);
    first.open();
    await ended;
    expect(events).to.deep.equal(['first begins', 'first ends', 'second begins', 'third begins', 'third ends']);
  });

  it('do not come for a connection that has ended meanwhile', async () => {
    const inTurn = oneAtATime();
    const kerberos = new FakeKerberos();
    kerberos.isSilent = true;
    const connected = [true, true];
    const [hung, queued] = [0, 1].map((index) =>
      new GssapiHandshake(
        { kerberos, inTurn },
        { host: `zk${index}`, isConnected: () => connected[index] === true, refusal },
      ).begin(),
    );
    const outcome = Promise.allSettled([hung, queued]);
    await new Promise((resolve) => setImmediate(resolve));
    connected.fill(false);
    kerberos.isSilent = false;
    kerberos.answer();
    await outcome;
    expect(kerberos.calls).to.deep.equal(['initialize zookeeper@zk0']);
  });
});
