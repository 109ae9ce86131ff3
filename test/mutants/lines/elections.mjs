import { tests } from '../named-tests.mjs';

/** Two leaders at once, a leader that does not learn of its loss, or an observer that misses a change. */
export const mutants = [
  {
    name: 'a candidate that leads again beside the job of its lost term',
    file: 'src/election/leader-election.ts',
    find: 'const whole = requeue ? untilReleased : withHold;',
    replace: 'const whole = withHold;',
    tests: tests('behaviour/election', 'waits for a job whose lease has ended'),
  },
  {
    name: 'a job that is not told that its term is lost',
    file: 'src/election/leader-election.ts',
    find: '[term.signal, signal].map((one)',
    replace: '[signal].map((one)',
    tests: tests('behaviour/election', 'without requeue rejects with the loss', 'leads again after a loss'),
  },
  {
    name: 'a candidate that rejects with the AbortError of its job instead of the signal’s reason',
    file: 'src/election/leader-election.ts',
    find: 'if (signal?.aborted && isAbortedBy(signal.reason, error)) throw signal.reason;',
    replace: '',
    tests: tests('behaviour/election', 'rejects with the reason of the signal'),
  },
  {
    name: 'jobs that follow each other without a turn of the event loop',
    file: 'src/election/leader-election.ts',
    find: 'if (term.isReentrant) await new Promise<void>((resolve) => this.#host.clock.afterPoll(resolve));',
    replace: '',
    tests: tests('behaviour/election', 'lets the event loop run between its jobs'),
  },
  {
    name: 'objects of the two protocols that are one lock',
    file: 'src/election/election-options.ts',
    find: 'mutex: { ...mutex, rules: { ...mutex.rules, driver } } };',
    replace: 'mutex };',
    tests: tests('behaviour/election', 'the other protocol is used on the same path'),
  },
  {
    name: 'an observer that reads the leader before it watches',
    file: 'src/election/leader-watch.ts',
    find: "if ((await this.#watch.watch(session, join(this.#path, holder), 'data')) === undefined) continue;",
    replace: '',
    tests: tests('behaviour/election', 'yields the leader at every change'),
  },
  {
    name: 'an observer that waits for an event that a server withholds',
    file: 'src/internals/change-watch.ts',
    find: 'clock.after(timeoutsBetweenReadings * sessions.timeoutMs, () => wake(undefined))',
    replace: 'clock.after(2 ** 40 * sessions.timeoutMs, () => wake(undefined))',
    tests: tests('behaviour/accounts/rights-taken', 'and observes a'),
  },
  {
    name: 'an observer that follows no next session',
    file: 'src/internals/change-watch.ts',
    find: 'this.#stopListening = session.onChange(() => session.isEnded && this.#fired());',
    replace: '',
    tests: tests('behaviour/election', 'goes on in the next session'),
  },
  {
    name: 'a candidate leaves the election after the job of a lost term has failed',
    file: 'src/election/leader-election.ts',
    find: 'if (!requeue || term.loss === undefined) throw error;',
    replace: 'if (!requeue || term.loss === undefined || error !== term.loss) throw error;',
    tests: tests('behaviour/election', 'whose job has failed with an error of its own'),
  },
  {
    name: 'a candidate that swallows the error of its job',
    file: 'src/election/leader-election.ts',
    find: 'if (!requeue || term.loss === undefined) throw error;',
    replace: 'if (!requeue) throw error;',
    tests: tests('behaviour/election', 'also with undefined'),
  },
  {
    name: 'an observer that misses a candidate which comes between its list and its watch',
    file: 'src/election/leader-watch.ts',
    find: 'if (names) return names.length === 0;',
    replace: 'if (names) return true;',
    tests: tests('behaviour/election', 'between its list and its watch'),
  },
];
