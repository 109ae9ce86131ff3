import { expect } from 'chai';
import { Agenda } from '../../lab/virtual/agenda.ts';
import type { ServerEnd, Servers } from '../../simulation/servers.ts';
import { SimNetwork } from '../../simulation/sim-network.ts';
import { SimProcess } from '../../simulation/sim-process.ts';

describe('the network of the simulation', () => {
  it('gives a process all that arrived while it stalled in one chunk', () => {
    const { agenda, process, connect } = network();
    const { link, end, chunks } = connect();
    process.stall(1_000);
    for (const text of ['one ', 'two ', 'three']) end.write(Buffer.from(text));
    run(agenda, agenda.now + 2_000);
    end.write(Buffer.from('four'));
    run(agenda, agenda.now + 100);
    expect(chunks).to.deep.equal(['one two three', 'four']);
    expect(link.destroyed).to.equal(false);
  });

  it('lets a stopped server go on with all that has arrived, also by a new connection', () => {
    const { agenda, network: sim, connect } = network();
    const old = connect();
    const resume = sim.stop(0);
    old.link.write(Buffer.from('before'));
    old.end.write(Buffer.from('answer'));
    const made = connect();
    made.link.write(Buffer.from('first'));
    made.link.write(Buffer.from('second'));
    run(agenda, agenda.now + 5_000);
    expect([old.received, old.chunks, made.received]).to.deep.equal([[], [], []]);
    resume();
    run(agenda, agenda.now + 100);
    expect([old.received, old.chunks]).to.deep.equal([['before'], ['answer']]);
    expect(made.received).to.deep.equal(['first', 'second']);
  });
});

function network() {
  const agenda = new Agenda();
  const sim = new SimNetwork(agenda, { seed: 1, leastDelayMs: 1, mostDelayMs: 2 });
  const process = new SimProcess('p', agenda, { seed: 1, clockRate: 1, clockOffsetMs: 0 });
  const ends: ServerEnd[] = [];
  sim.servers = { accept: (_member, end) => ends.push(end) > 0 } as Partial<Servers> as Servers;
  const connect = () => {
    const link = sim.of(process, undefined).connect({ host: 's0', port: 2181 });
    const chunks: string[] = [];
    const received: string[] = [];
    link.on('data', (chunk) => chunks.push(String(chunk)));
    run(agenda, agenda.now + 10);
    const end = ends.at(-1);
    if (!end) throw new Error('The server was not dialled');
    end.onData((chunk) => received.push(String(chunk)));
    return { link, end, chunks, received };
  };
  return { agenda, network: sim, process, connect };
}

function run(agenda: Agenda, until: number): void {
  for (let entry = agenda.take(until); entry; entry = agenda.take(until)) entry.run();
  agenda.now = until;
}
