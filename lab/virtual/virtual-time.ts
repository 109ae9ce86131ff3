import { AsyncResource } from 'node:async_hooks';
import { Agenda, cancel, phases, type Entry, type Phase } from './agenda.ts';
import { VirtualProcess } from './virtual-process.ts';

// Node's own, because the bridge replaces the global one.
const { setImmediate: nextTurn, setTimeout: inRealTime, clearTimeout: cancelRealTime } = globalThis;

/**
 * Virtual time. It moves only when nothing else is due. Each event has an immediate of Node's event loop for itself, so
 * promises and `process.nextTick` run between two events as they do between two events of a real loop.
 */
export class VirtualTime {
  readonly agenda = new Agenda();
  /** The process that tests and clients run in. */
  readonly here = new VirtualProcess('here', this.agenda);
  /** Called after each event, when its promises have run out. Returns true if it has settled others. */
  afterEach = (): boolean => false;
  /** False for tests that do nothing real: the time jumps at once. */
  waitsForReal = true;
  /** Called when nothing is to happen any more. */
  whenIdle = (): void => this.#loseTime();
  /** The event that happened last. */
  last: Pick<Entry, 'phase' | 'whose'> = { phase: phases.timer, whose: undefined };
  #running = this.here;
  #isDriven = false;
  #isStopped = false;
  #limit: { readonly at: number; readonly giveUp: () => void } | undefined;
  #realTimer: NodeJS.Timeout | undefined;
  #emptyTurns = 0;
  /** The immediates that are still to run. */
  #turnsAhead = 0;
  #reads = 0;

  /** The process whose code runs now. */
  get process(): VirtualProcess {
    return this.#running;
  }

  /** Milliseconds, as the running process sees them. */
  now(): number {
    // A loop that waits for the time to pass would never end: it has to use `lab.stall`.
    if ((this.#reads += 1) > mostReads)
      throw new Error(`The clock was read ${mostReads} times in one event: use lab.stall()`);
    return this.#running.now;
  }

  /** Runs code of another process, which owns the timers and the sockets that it makes meanwhile. */
  as<T>(process: VirtualProcess, run: () => T): T {
    const before = this.#running;
    this.#running = process;
    try {
      return run();
    } finally {
      this.#running = before;
    }
  }

  /** Calls `run` in the async context of the caller, or of `resource`. Returns a function that cancels the call. */
  add(delayMs: number, phase: Phase, run: () => void, options: EventOptions = {}): () => void {
    return this.addAt((options.whose ?? this.#running).after(delayMs), phase, run, options);
  }

  /** As `add`, at a time. */
  addAt(at: number, phase: Phase, run: () => void, options: EventOptions = {}): () => void {
    const { whose = this.#running, resource = new AsyncResource('VirtualEvent') } = options;
    const entry = this.agenda.add(at, phase, whose, () => this.as(whose, () => resource.runInAsyncScope(run)));
    this.#drive();
    return () => cancel(entry);
  }

  /**
   * Calls `giveUp` if nothing is to happen within `ms` from now, or ever, for a moment of real time. Returns a function
   * that ends this watch.
   */
  limit(ms: number, giveUp: () => void): () => void {
    this.#limit = { at: this.here.at + ms, giveUp };
    this.#drive();
    return () => {
      this.#limit = undefined;
      cancelRealTime(this.#realTimer);
      this.#drive();
    };
  }

  /** Nothing happens any more, so nothing of it keeps the process alive. */
  stop(): void {
    this.#isStopped = true;
  }

  #drive(): void {
    if (this.#isDriven || this.#isStopped) return;
    this.#isDriven = true;
    driver.runInAsyncScope(() => this.#goOn());
  }

  #goOn(): void {
    if (this.#turnsAhead > 0) return;
    // Node runs all promises between two immediates, and looks for what is real only after the last of them.
    this.#turnsAhead = this.waitsForReal ? 1 : mostTurnsAhead;
    for (let turn = 0; turn < this.#turnsAhead; turn += 1) nextTurn(this.#turn);
  }

  readonly #turn = (): void => {
    this.#turnsAhead -= 1;
    if (this.#isStopped || !this.#isDriven) return;
    this.#reads = 0;
    if (this.afterEach()) {
      this.#goOn();
      return;
    }
    const next = this.#next();
    if (next === 'nothing') {
      this.#isDriven = false;
      this.whenIdle();
      return;
    }
    // Before `run`, which may throw.
    this.#goOn();
    if (next === 'later') return;
    this.last = next;
    next.run();
  };

  /** The next event, if it may happen already. */
  #next(): Entry | 'later' | 'nothing' {
    const due = this.agenda.take(this.agenda.now);
    if (due) {
      this.#emptyTurns = 0;
      return due;
    }
    if (this.waitsForReal && ((this.#emptyTurns += 1) <= turnsBeforeJump || isAnythingRealUnderWay())) return 'later';
    this.#emptyTurns = 0;
    return this.agenda.take(this.#limit?.at ?? Infinity) ?? 'nothing';
  }

  /** Nothing is to happen. Only something real, such as a file that is read, may go on with the test. */
  #loseTime(): void {
    const limit = this.#limit;
    if (!limit) return;
    cancelRealTime(this.#realTimer);
    this.#realTimer = inRealTime(() => {
      if (this.#limit === limit && !this.#isDriven) limit.giveUp();
    }, realWaitMs);
  }
}

export interface EventOptions {
  /** @default the running process */
  readonly whose?: VirtualProcess;
  /** The async context of the event. @default the caller's */
  readonly resource?: AsyncResource;
}

/** So many events share one turn of Node's event loop if nothing real is waited for. */
const mostTurnsAhead = 64;

/** Between two steps of something real, such as the loading of a module, nothing real is under way for a turn or two. */
const turnsBeforeJump = 2;

/** True while a module is loaded, or a file is read or written: the time must not pass meanwhile. */
function isAnythingRealUnderWay(): boolean {
  return process.getActiveResourcesInfo().some((resource) => realResources.has(resource));
}

/** A `MessagePort` is active while the thread that loads modules owes an answer. */
const realResources = new Set(['MessagePort', 'FSReqPromise', 'FSReqCallback', 'CloseReq']);

const realWaitMs = 3_000;

const mostReads = 1_000_000;

const driver = new AsyncResource('VirtualTime');
