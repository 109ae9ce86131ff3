import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { HostNames, type Address, type NameServices, type Question } from '../../src/zookeeper/network/host-names.ts';
import { ManualClock } from '../../lab/manual-clock.ts';

const here: readonly Address[] = [{ address: '10.0.0.1', family: 4 }];
const there: readonly Address[] = [{ address: '10.0.0.2', family: 4 }];

/** Names whose answers come from the test. */
class FakeServices implements NameServices {
  /** The lookups under way, in the order in which they began. */
  readonly running: { readonly name: string; end(result: readonly Address[] | Error): Promise<void> }[] = [];
  readonly begun: string[] = [];
  readonly probed: string[] = [];
  readonly isServed = new Map<string, () => void>();

  lookup(name: string): Promise<readonly Address[]> {
    this.begun.push(name);
    return new Promise((resolve, reject) => {
      const running = {
        name,
        end: async (result: readonly Address[] | Error): Promise<void> => {
          this.running.splice(this.running.indexOf(running), 1);
          if ('message' in result) reject(result);
          else resolve(result);
          await new Promise(setImmediate);
        },
      };
      this.running.push(running);
    });
  }

  probe(name: string, isServed: () => void): () => void {
    this.probed.push(name);
    this.isServed.set(name, isServed);
    return () => this.isServed.delete(name);
  }

  end(name: string, result: readonly Address[] | Error): Promise<void> | undefined {
    return this.running.find((each) => each.name === name)?.end(result);
  }
}

describe('the lookups of a process', () => {
  let clock: ManualClock;
  let services: FakeServices;
  let names: HostNames;
  let told: string[];

  const ask = (name: string): Question => names.ask(name, () => told.push(name));
  const hang = (): void => clock.advance(250);

  beforeEach(() => {
    clock = new ManualClock();
    services = new FakeServices();
    names = new HostNames(services, clock);
    told = [];
  });

  it('are one for each name, for all who ask', async () => {
    const questions = [ask('a'), ask('a'), ask('a')];
    expect(services.begun).to.deep.equal(['a']);
    await services.end('a', here);
    expect(questions.map(({ answer }) => answer)).to.deep.equal(Array(3).fill({ is: 'found', addresses: here }));
    expect(told).to.deep.equal(['a', 'a', 'a']);
    expect(clock.timers).to.equal(0);
  });

  it('are made anew by each later question', async () => {
    ask('a');
    await services.end('a', here);
    const again = ask('a');
    expect(again.answer).to.equal(undefined);
    await services.end('a', there);
    expect(again.answer).to.deep.equal({ is: 'found', addresses: there });
    expect(names.lastOf('a')).to.deep.equal(there);
  });

  it('are made one after another', async () => {
    for (const name of ['a', 'b', 'c']) ask(name);
    expect(services.begun).to.deep.equal(['a']);
    await services.end('a', here);
    expect(services.begun).to.deep.equal(['a', 'b']);
    await services.end('b', new Error('unknown'));
    expect(services.begun).to.deep.equal(['a', 'b', 'c']);
    expect(services.probed).to.deep.equal([]);
  });

  it('overtake one that hangs only if their name servers answer, one at a time', async () => {
    for (const name of ['hangs', 'hangs too', 'good', 'better']) ask(name);
    clock.advance(249);
    expect(services.probed).to.deep.equal([]);
    clock.advance(1);
    expect(services.probed).to.deep.equal(['hangs too', 'good', 'better']);
    expect(services.begun).to.deep.equal(['hangs']);
    services.isServed.get('good')?.();
    services.isServed.get('better')?.();
    expect(services.begun).to.deep.equal(['hangs', 'good']);
    await services.end('good', here);
    expect(services.begun).to.deep.equal(['hangs', 'good', 'better']);
    await services.end('better', there);
    expect(told).to.deep.equal(['good', 'better']);
    expect(services.running.map(({ name }) => name)).to.deep.equal(['hangs']);
  });

  it('are two at most, although the name servers of the second one answered', () => {
    for (const name of ['hangs', 'hangs too', 'good']) ask(name);
    hang();
    services.isServed.get('hangs too')?.();
    hang();
    services.isServed.get('good')?.();
    hang();
    expect(services.begun).to.deep.equal(['hangs', 'hangs too']);
  });

  it('of the other names begin when the one that hung has ended, without another probe', async () => {
    for (const name of ['hangs', 'b']) ask(name);
    hang();
    await services.end('hangs', new Error('no answer'));
    expect(services.begun).to.deep.equal(['hangs', 'b']);
    expect(services.isServed.has('b')).to.equal(false);
    ask('hangs');
    hang();
    expect(services.probed).to.deep.equal(['b', 'hangs']);
  });

  it('of names that nobody needs any more do not begin', async () => {
    ask('hangs');
    const probed = ask('probed');
    hang();
    const waiting = ask('waiting');
    probed.withdraw();
    expect(services.isServed.has('probed')).to.equal(false);
    waiting.withdraw();
    await services.end('hangs', here);
    expect(services.begun).to.deep.equal(['hangs']);
    expect(clock.timers).to.equal(0);
  });

  it('go on for the others who asked, and are joined if nobody needed them for a while', async () => {
    const [first, second] = [ask('a'), ask('a')];
    first.withdraw();
    second.withdraw();
    const third = ask('a');
    expect(services.begun).to.deep.equal(['a']);
    await services.end('a', here);
    expect(told).to.deep.equal(['a']);
    expect(third.answer?.is).to.equal('found');
  });

  it('are answered with the last result if the name servers could not be reached, and with nothing else', async () => {
    const unreachable = Object.assign(new Error('getaddrinfo EAI_AGAIN'), { code: 'EAI_AGAIN' });
    const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' });
    const answers = [];
    // Under Jest, the errors of Node are of another realm.
    const ofNode = runInNewContext("Object.assign(new Error('EAI_AGAIN'), { code: 'EAI_AGAIN' })") as Error;
    for (const result of [unreachable, here, unreachable, ofNode, unknown]) {
      const question = ask('a');
      await services.end('a', result);
      answers.push(question.answer);
    }
    expect(answers).to.deep.equal([
      { is: 'failed', error: unreachable },
      { is: 'found', addresses: here },
      { is: 'found', addresses: here },
      { is: 'found', addresses: here },
      { is: 'failed', error: unknown },
    ]);
  });

  it('are remembered for the last thousand names', async () => {
    for (let each = 0; each <= 1_000; each += 1) {
      ask(`n${each}`);
      await services.end(`n${each}`, here);
    }
    expect(['n0', 'n1', 'n1000'].map((name) => names.lastOf(name))).to.deep.equal([undefined, here, here]);
  });
});
