import { expect } from 'chai';
import { check } from '../../chaos/check.ts';
import type { History } from '../../lab/judge/folded-history.ts';
import { picture } from '../../chaos/picture.ts';
import { calm } from '../lab/judge/support/script.ts';

function drawn(history: History): string {
  return picture(history, check(history).violations);
}

describe('the picture of a history', () => {
  it('has a lane for each client and a colour for each path', () => {
    const page = drawn(calm().history);
    for (const name of ['c1', 'c2']) expect(page).to.include(`>${name}</text>`);
    for (const lane of ['p0', 'p1']) expect(page).to.include(`<path class="${lane}" d="M`);
  });

  it('shows each fault, each waiter and each loss', () => {
    const page = drawn(
      calm()
        .fault('silent-link', 'c1', 900, 9_000)
        .hold('c1', 'x', { call: 800, granted: 1_000, token: 10 })
        .lose('c1', 'x', 4_000).history,
    );
    expect(page).to.match(/<rect class="fault"[^>]+>.*silent-link c1/);
    expect(page.match(/<rect class="hit"/g)).to.have.length(2); // one client, drawn as a whole and in detail
    expect(page).to.include('<path class="w" d="M').and.include('<path class="x" d="M');
    expect(page).to.include('x plain token 10, 1.000 s</title>');
  });

  it('shows each violation as a whole and in detail', () => {
    const page = drawn(
      calm()
        .hold('c1', 'x', { call: 990, granted: 1_000, token: 10 })
        .release('c1', 'x', 1_200)
        .hold('c2', 'y', { call: 995, granted: 1_100, until: 1_300, token: 11 }).history,
    );
    expect(page.match(/<path class="v"/g)).to.have.length(2);
    expect(page).to.include('<h2>1.100 s overlaps: x (/a, token 10)');
  });

  it('needs no other files, and escapes names', () => {
    const page = drawn(
      calm().say(500, { type: 'warning', client: 'c1', what: 'warning', error: '<script src="https://x">&' }).history,
    );
    expect(page).not.to.match(/<script|<link|<img|url\(/);
    expect(page).to.include('&lt;script src=&quot;https://x&quot;&gt;&amp;');
  });

  it('stays small for a long run', () => {
    const script = calm();
    for (let n = 0; n < 20_000; n += 1) {
      const granted = 1_000 + 2 * n;
      script.hold(`c${1 + (n % 2)}`, `x${n}`, { call: granted - 1, granted, until: granted + 1, token: 10 + n });
    }
    const { history } = script;
    expect(history.acquires).to.have.length.at.least(20_000);
    expect(drawn(history).length).to.be.within(100_000, 10_000_000);
  }).timeout(60_000);
});
