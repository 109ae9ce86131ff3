import { expect } from 'chai';
import { learn, unproven } from '../../src/zookeeper/session/session-clock.ts';
import { SessionShell } from '../../src/zookeeper/session/session-shell.ts';
import { clockModel, ClockRecorder } from '../../simulation/clock-recorder.ts';
import { queueModel, QueueRecorder } from '../../simulation/queue-recorder.ts';
import { Simulation } from '../../simulation/simulation.ts';
import { queuePlans } from '../../simulation/trace-names.ts';
import { call, plain } from './support/plans.ts';

describe('the traces of a simulation', () => {
  it('record every step of the session clocks with the facts after it', async () => {
    using recorder = new ClockRecorder();
    await new Simulation(plain([call(300), call(900, 1), call(3_000), call(6_000)])).run();
    const sessions = recorder.sessions();
    expect(sessions).to.have.length(2);
    for (const steps of sessions) {
      expect(steps[0]?.event.is).to.equal('granted');
      let facts = unproven;
      for (const { event, proof } of steps) {
        facts = learn(facts, event);
        expect(proof).to.deep.equal(facts);
      }
      expect(facts.provenAt).to.be.greaterThan(0);
    }
  });

  it('record no session after the recorder was disposed of', async () => {
    const feed: unknown = Reflect.get(SessionShell.prototype, 'feed');
    const recorder = new ClockRecorder();
    recorder[Symbol.dispose]();
    await new Simulation(plain([call(300)])).run();
    expect(recorder.sessions()).to.deep.equal([]);
    expect(Reflect.get(SessionShell.prototype, 'feed')).to.equal(feed);
  });

  it('give a request the second half of the microsecond in which it is sent', () => {
    const granted = { is: 'granted', sentAt: 5, timeoutMs: 2_000 } as const;
    const { data, config } = clockModel([[{ event: granted, proof: learn(unproven, granted) }]], {
      timeoutMs: 2_000,
      relayMs: 500,
    });
    expect(data).to.match(
      /is \|-> "granted".* sent \|-> 1, at \|-> 1, timeout \|-> 4000000, proven \|-> -99, connect \|-> 1,/,
    );
    expect(config).to.match(/Timeout = 4000000\n.*Margin = 400000\n.*Relay = 1000000\n/);
  });

  it('record the znodes of a queue in the order of the servers, and the holder of the lock', async () => {
    const plan = queuePlans.get('queue of hand-over');
    if (plan === undefined) throw new Error('The plan is missing');
    const simulation = new Simulation(plan);
    const recorder = new QueueRecorder(simulation.world, '/locks/a');
    await simulation.run();
    const { states } = recorder;
    expect(states.at(-1)?.owners).to.deep.equal(['p0c0', 'p0c0', 'p1c0']);
    // The hand-over from the first znode to the second is one step, and both exist.
    const holders = states.map(({ held, live }) => `${[...held].join()} of ${[...live].join()}`);
    expect(holders).to.include.members(['1 of 1,2,3', '2 of 1,2,3', '2 of 2,3', '3 of 3']);
    expect(holders).to.not.include.members([' of 1,2,3']);
    expect(queueModel(plan, states).config).to.match(/Most = 3\n.*Faults = 0\n/);
  });
});
