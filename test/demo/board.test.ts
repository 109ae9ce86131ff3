import { expect } from 'chai';
import { Board } from '../../demo/board.ts';
import type { Ask, Entry, Visit } from '../../demo/job.ts';

function ask(worker: number, job: number, askedMs: number): Ask {
  return { worker, job, askedAt: BigInt(askedMs * 1e6) };
}

function enter(asked: Ask, grantedMs: number): Entry {
  const path = `/demo/jobs/_c_00000000-0000-4000-8000-000000000000-lock-${String(asked.job).padStart(10, '0')}`;
  return { ...asked, grantedAt: BigInt(grantedMs * 1e6), token: BigInt(100 + asked.job), path, metAnotherJob: false };
}

function leave(entry: Entry, leftMs: number): Visit {
  return { ...entry, leftAt: BigInt(leftMs * 1e6) };
}

const one = enter(ask(1, 1, 0), 5);
const two = enter(ask(2, 2, 1), 27);
const three = enter(ask(3, 3, 2), 60);

function boardOfThree(): Board {
  const board = new Board();
  for (const asked of [two, one, three]) board.asked(asked);
  return board;
}

/** Runs of spaces only align the columns. */
function told(lines: readonly string[]): string[] {
  return lines.map((line) => line.trim().replace(/ {2,}/g, ' | '));
}

describe("the demo's board", () => {
  it('prints a grant at once if no job is inside', () => {
    const board = boardOfThree();
    board.granted(one);
    expect(told(board.lines())).to.deep.equal([
      '1 | worker 1 job 1 | token 101 | waited | 5 ms | no hand-over | 2 wait, longest worker 2 job 2',
    ]);
    expect(board.lines()).to.deep.equal([]);
  });

  it('holds a grant back until the news of the release before it has arrived', () => {
    const board = boardOfThree();
    board.granted(one);
    board.lines();
    board.granted(two);
    expect(board.lines()).to.deep.equal([]);
    board.left(leave(one, 25));
    expect(told(board.lines())).to.deep.equal([
      '2 | worker 2 job 2 | token 102 | waited | 26 ms | hand-over | 2.0 ms | 1 wait, longest worker 3 job 3',
    ]);
  });

  it('prints grants in the order in which they were made, not in the order in which the news arrived', () => {
    const board = boardOfThree();
    board.granted(two);
    board.granted(one);
    board.left(leave(one, 25));
    expect(board.lines().map((line) => line.slice(5, 19))).to.deep.equal(['worker 1 job 1', 'worker 2 job 2']);
  });

  it('prints the remaining grants after the last news', () => {
    const board = boardOfThree();
    board.granted(one);
    board.lines();
    board.granted(two);
    expect(board.lastLines()).to.have.length(1);
    expect(board.lastLines()).to.deep.equal([]);
  });

  it('marks a job that was not alone', () => {
    const board = boardOfThree();
    board.granted({ ...one, metAnotherJob: true });
    expect(board.lines().join()).to.match(/ANOTHER JOB IS INSIDE$/);
  });

  it('knows the holder and the waiters at any time', () => {
    const board = boardOfThree();
    expect(board.status()).to.equal('holds: nobody | waits: worker 1: 1, worker 2: 2, worker 3: 3');
    board.granted(one);
    board.lines();
    expect(board.status()).to.equal('holds: worker 1 job 1 | waits: worker 2: 2, worker 3: 3');
    board.left(leave(one, 25));
    board.granted(two);
    board.granted(three);
    board.lines();
    board.left(leave(two, 50));
    board.lines();
    board.left(leave(three, 90));
    expect(board.status()).to.equal('holds: nobody | waits: nobody');
  });

  it('knows which job of a worker is inside, and which jobs are done', () => {
    const board = boardOfThree();
    board.granted(one);
    expect(board.insideOf(1)).to.equal(one);
    expect(board.insideOf(2)).to.equal(undefined);
    board.left(leave(one, 25));
    expect(board.insideOf(1)).to.equal(undefined);
    expect(board.visits).to.deep.equal([leave(one, 25)]);
  });
});
