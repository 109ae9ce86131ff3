import { Board } from './board.ts';
import { Crew } from './crew.ts';
import { milliseconds, now } from './job.ts';
import { markerPath } from './marker.ts';
import type { News } from './messages.ts';
import { planJobs, type Size } from './plan.ts';
import type { Screen } from './screen.ts';
import { judge, type Verdict } from './verdict.ts';

export interface Place {
  readonly connectString: string;
  readonly lockPath: string;
}

export type Ending =
  { readonly is: 'complete' } | { readonly is: 'interrupted' } | { readonly is: 'failed'; readonly why: string };

type State =
  | { at: 'gathering'; missing: number }
  | { at: 'serving'; beganAt: bigint; missing: number }
  | { at: 'over'; tookMs: number };

const gatherLimitMs = 30_000;
// Longer than the workers' session timeout, because a queue behind an expired session moves on by itself.
const stallLimitMs = 12_000;

/** A run of the workers, which serve their jobs under one lock. */
export class Shift {
  readonly #size: Size;
  readonly #screen: Screen;
  readonly #board = new Board();
  readonly #crew: Crew;
  readonly #ending: Promise<Ending>;
  readonly #resolve: (ending: Ending) => void;
  #state: State;
  #stall: NodeJS.Timeout | undefined;
  #isRefreshDue = false;

  constructor(size: Size, place: Place, screen: Screen) {
    let resolve: (ending: Ending) => void = () => undefined;
    this.#ending = new Promise((settle) => (resolve = settle));
    this.#resolve = resolve;
    this.#size = size;
    this.#screen = screen;
    this.#state = { at: 'gathering', missing: size.workers };
    this.#crew = new Crew(size.workers, {
      said: (worker, news) => this.#hear(worker, news),
      died: (worker, how) => this.#mourn(worker, how),
    });
    const marker = markerPath();
    this.#crew.order((worker) => ({ is: 'connect', worker, ...place, markerPath: marker }));
    this.#watch();
  }

  /** Resolves when all workers have ended, with success or not. */
  async over(): Promise<{ readonly ending: Ending; readonly verdict: Verdict }> {
    const ending = await this.#ending;
    await this.#crew.stop();
    const tookMs = this.#state.at === 'over' ? this.#state.tookMs : 0;
    return { ending, verdict: judge(this.#board.visits, this.#size.jobs, tookMs) };
  }

  interrupt(): void {
    this.#end({ is: 'interrupted' });
  }

  #hear(worker: number, news: News): void {
    if (this.#state.at === 'over') return;
    this.#watch();
    switch (news.is) {
      case 'ready':
        this.#gather();
        break;
      case 'connection':
        this.#screen.print(`     worker ${worker}: connection ${news.state}`);
        break;
      case 'asked':
        this.#board.asked(news.ask);
        break;
      case 'granted':
        this.#board.granted(news.entry);
        break;
      case 'left':
        this.#board.left(news.visit);
        break;
      case 'done':
        this.#count();
        break;
      case 'failed':
        this.#end({ is: 'failed', why: `worker ${worker}: ${news.what}` });
        break;
    }
    this.#refreshSoon();
  }

  #mourn(worker: number, how: string): void {
    const entry = this.#board.insideOf(worker);
    const inside = entry === undefined ? '' : ` while its job ${entry.job} held the lock`;
    this.#end({ is: 'failed', why: `worker ${worker} ended unexpectedly${inside} (${how})` });
  }

  #gather(): void {
    if (this.#state.at !== 'gathering') return;
    this.#state.missing -= 1;
    if (this.#state.missing > 0) return;
    this.#state = { at: 'serving', beganAt: now(), missing: this.#size.jobs };
    const plan = planJobs(this.#size, Math.random);
    this.#crew.order((worker) => ({ is: 'begin', jobs: plan[worker - 1] ?? [] }));
  }

  #count(): void {
    if (this.#state.at !== 'serving') return;
    this.#state.missing -= 1;
    if (this.#state.missing === 0) this.#end({ is: 'complete' });
  }

  #end(ending: Ending): void {
    if (this.#state.at === 'over') return;
    clearTimeout(this.#stall);
    this.#state = { at: 'over', tookMs: this.#state.at === 'serving' ? milliseconds(this.#state.beganAt, now()) : 0 };
    this.#refresh();
    for (const line of this.#board.lastLines()) this.#screen.print(line);
    this.#screen.status('');
    this.#resolve(ending);
  }

  /** Starts the limit again: something must happen within it. */
  #watch(): void {
    const limitMs = this.#state.at === 'gathering' ? gatherLimitMs : stallLimitMs;
    clearTimeout(this.#stall);
    this.#stall = setTimeout(() => {
      this.#end({ is: 'failed', why: `nothing has happened for ${limitMs / 1_000} s (${this.#board.status()})` });
    }, limitMs);
  }

  /** Runs after all channels were read, because the order in which channels are read is not the order of the events. */
  #refreshSoon(): void {
    if (this.#isRefreshDue) return;
    this.#isRefreshDue = true;
    setImmediate(() => {
      this.#isRefreshDue = false;
      if (this.#state.at !== 'over') this.#refresh();
    });
  }

  #refresh(): void {
    for (const line of this.#board.lines()) this.#screen.print(line);
    this.#screen.status(this.#board.status());
  }
}
