import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { InterProcessMutex, type Hold } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { until } from '../../lab/until.ts';
import { setData } from '../../lab/semaphores.ts';
import { createEphemeral, remove } from '../../src/zookeeper/wire/operations.ts';
import { consoleOfEachTest } from './support/console-of.ts';

const bytes = (text: string): Buffer => Buffer.from(text);

describe('the web console, in a browser', function () {
  this.timeout(40_000);
  const lab = labOfEachTest('console', {
    server: { containerCheckMs: 50 },
    proxy: true,
    client: { sessionTimeoutMs: 6_000 },
  });
  const shown = consoleOfEachTest(lab);

  const at = (name: string): InterProcessMutex => new InterProcessMutex(lab.other, `${lab.path}/${name}`);
  const rowOf = (page: Page, name: string) =>
    page
      .locator('tbody tr:not(.details)')
      .filter({ has: page.getByRole('button', { name: `${lab.path}/${name}`, exact: true }) });
  const rows = (page: Page): Promise<string[]> => page.locator('tbody th .path').allTextContents();
  const shows = (page: Page, ...names: string[]): Promise<void> => {
    const wanted = names.map((name) => `${lab.path}/${name}`).join();
    return until(`the rows are ${names.join()}`, async () => (await rows(page)).join() === wanted);
  };
  const focused = (page: Page) => page.locator(':focus');
  const releaseAll = async (...holds: Hold[]): Promise<void> => {
    for (const hold of holds) await hold.release();
  };

  it('shows a row as soon as a lock is held, follows its hand-over, and removes it with the lock', async () => {
    const page = await shown.open();
    await page.getByText('There are no locks.').waitFor();
    const first = await at('orders').acquire({ data: bytes('first worker') });
    const row = rowOf(page, 'orders');
    await row.getByText('first worker').waitFor();
    expect(await row.locator('.badge.held').count()).to.equal(1);
    expect(await row.locator('td').last().textContent()).to.equal(String(first.fencingToken));
    const waiting = at('orders').acquire({ data: bytes('second worker') });
    await row.locator('td.number.some', { hasText: /^1$/ }).waitFor();
    await first.release();
    const second = await waiting;
    await row.getByText('second worker').waitFor();
    await page.locator('#total-hand-overs', { hasText: /^1$/ }).waitFor();
    await page.getByText('Events').click();
    await page.getByText(/was handed over to second worker by first worker/).waitFor();
    await second.release();
    await page.getByText('There are no locks.').waitFor();
  });

  it('moves rows when the order changes: by waiters, the most first', async () => {
    const page = await shown.open();
    const holds = [await at('a').acquire(), await at('b').acquire(), await at('c').acquire()];
    await shows(page, 'a', 'b', 'c');
    const waiting = [at('c').acquire(), at('c').acquire(), at('b').acquire()];
    await page.getByRole('button', { name: 'Waiting' }).click();
    await shows(page, 'c', 'b', 'a');
    expect(await page.locator('th[aria-sort]').getAttribute('aria-sort')).to.equal('descending');
    await releaseAll(...holds);
    for (const hold of waiting) await (await hold).release();
  });

  it('shows the path with 2 before the one with 10', async () => {
    const page = await shown.open();
    const holds = [await at('o/10').acquire(), await at('o/2').acquire(), await at('p').acquire()];
    await shows(page, 'o/2', 'o/10', 'p');
    await releaseAll(...holds);
  });

  it('keeps the search, the filter and the order in its address', async () => {
    const page = await shown.open();
    const holds = [await at('orders/a').acquire(), await at('orders/b').acquire(), await at('mail').acquire()];
    await page.getByLabel('Search').fill('orders');
    await page.getByLabel('Show', { exact: true }).selectOption('held');
    await page.getByRole('button', { name: 'Lock', exact: true }).click();
    await shows(page, 'orders/b', 'orders/a');
    expect(new URL(page.url()).search).to.equal('?search=orders&filter=held&reverse=');
    await page.reload();
    await shows(page, 'orders/b', 'orders/a');
    await page.getByLabel('Search').press('Escape');
    expect(new URL(page.url()).search).to.equal('?filter=held&reverse=');
    await page.goto(`${shown.server.url}?filter=nonsense&sort=nonsense`);
    await shows(page, 'mail', 'orders/a', 'orders/b');
    await releaseAll(...holds);
  });

  it('opens a row by a click anywhere in it, and moves no column', async () => {
    const page = await shown.open();
    const widths = (): Promise<string> =>
      page.evaluate("[...document.querySelectorAll('thead th')].map((head) => head.offsetWidth).join()");
    const before = await widths();
    await using hold = await at('orders').acquire({ data: bytes(`a holder with a long name ${'x'.repeat(200)}`) });
    await rowOf(page, 'orders').locator('td.holder').click();
    await page.getByText(hold.path, { exact: true }).waitFor();
    expect(await widths()).to.equal(before);
    await rowOf(page, 'orders').locator('td.holder').click();
    await page.getByText(hold.path, { exact: true }).waitFor({ state: 'detached' });
  });

  it('finds locks by path, data and state', async () => {
    const page = await shown.open();
    const [orders, mail] = [await at('orders').acquire({ data: bytes('web-1') }), await at('mail').acquire()];
    await shows(page, 'mail', 'orders');
    await page.getByLabel('Search').fill('WEB-1');
    await shows(page, 'orders');
    await page.getByLabel('Search').press('Escape');
    await shows(page, 'mail', 'orders');
    await page.getByLabel('Show', { exact: true }).selectOption('waiting');
    await page.getByText('No lock fits the search.').waitFor();
    await releaseAll(orders, mail);
  });

  it('is used by the keyboard alone: search, open a row, and keep the place while rows move', async () => {
    const page = await shown.open();
    const hold = await at('m').acquire({ data: bytes('the holder') });
    await shows(page, 'm');
    await page.keyboard.press('/');
    expect(await focused(page).getAttribute('id')).to.equal('search');
    const button = page.getByRole('button', { name: `${lab.path}/m` });
    await button.focus();
    await page.keyboard.press('Enter');
    await page.locator('.path[aria-expanded=true]').waitFor();
    await page.getByText(hold.path, { exact: true }).waitFor();
    const earlier = await at('a').acquire();
    await shows(page, 'a', 'm');
    expect(await focused(page).textContent()).to.equal(`${lab.path}/m`);
    await page.keyboard.press('Space');
    await page.locator('.path[aria-expanded=false]').nth(1).waitFor();
    await releaseAll(hold, earlier);
  });

  it('shows data that look like markup as text, and runs none of them', async () => {
    const page = await shown.open({ allowRevoke: true });
    const evil = '<img src=x onerror="window.evil=1"><script>window.evil=1</script>\u202etxt';
    await using hold = await at('evil').acquire({ data: bytes(evil) });
    await rowOf(page, 'evil').getByText('<img src=x').waitFor();
    await page
      .getByRole('button', { name: `${lab.path}/evil` })
      .first()
      .click();
    await page.locator('.participants').getByText('\\u202etxt').first().waitFor();
    expect(await page.evaluate<unknown>('window.evil')).to.equal(undefined);
    expect(await page.locator('tbody img, tbody script').count()).to.equal(0);
    await setData(lab.other, hold.path, Buffer.from([0x80, 0x81]));
    await rowOf(page, 'evil').getByText('0x8081').waitFor();
  });

  it('says when it is cut off from ZooKeeper, and shows no stale row afterwards', async () => {
    const page = await shown.open({ allowRevoke: true });
    const [kept, gone] = [await at('kept').acquire(), await at('gone').acquire()];
    await shows(page, 'gone', 'kept');
    await rowOf(page, 'kept').click();
    const takeAway = page.getByRole('button', { name: 'Take away' });
    expect(await takeAway.isEnabled()).to.equal(true);
    await lab.proxy.refuse();
    lab.proxy.cut();
    await page.getByRole('alert').getByText('cut off from ZooKeeper').waitFor();
    expect(await takeAway.isEnabled()).to.equal(false);
    await gone.release();
    const added = await at('added').acquire();
    await lab.proxy.accept();
    await shows(page, 'added', 'kept');
    await page.getByText('live', { exact: true }).waitFor();
    expect(await page.getByRole('alert').isVisible()).to.equal(false);
    expect(await takeAway.isEnabled()).to.equal(true);
    await releaseAll(kept, added);
  });

  it('says that a lock is not readable, and since when', async () => {
    const page = await shown.open();
    await using _hold = await at('orders').acquire({ data: bytes('first worker') });
    const row = rowOf(page, 'orders');
    await row.getByText('first worker').waitFor();
    const hidden = `${lab.path}/orders/${'f'.repeat(32)}__lock__0000009999`;
    const nobody = [{ permissions: 30, scheme: 'world', id: 'anyone' }];
    await lab.other.session.request(createEphemeral(hidden, bytes('kazoo'), nobody));
    await row.getByText(/^not readable for \ds$/).waitFor();
    await page.getByText(/^Not all is shown\. Not readable: \S+__lock__0000009999 \(for \ds\)$/).waitFor();
    await page.locator('#total-held', { hasText: /^0$/ }).waitFor();
    await page.getByLabel('Show', { exact: true }).selectOption('unreadable');
    await shows(page, 'orders');
    await row.getByRole('button').click();
    await page.locator('li', { hasText: hidden }).getByText('for ').waitFor();
    expect(await page.locator('body').textContent()).not.to.match(/NaN|1970|Invalid/);
    await lab.other.session.request(remove(hidden));
    await page.getByText(/^Not all is shown/).waitFor({ state: 'hidden' });
    await page.getByLabel('Show', { exact: true }).selectOption('held');
    await shows(page, 'orders');
  });

  it('says when its own server does not answer', async () => {
    const page = await shown.open();
    await page.route('**/api/events', (route) => route.abort());
    await page.reload();
    await page.getByText('does not answer').waitFor();
    expect(await page.locator('#state').textContent()).to.equal('not connected');
  });

  it('asks a holder to release only after a confirmation', async () => {
    const page = await shown.open({ allowRevoke: true });
    const mutex = at('asked');
    const requests: Hold[] = [];
    mutex.makeRevocable((hold) => void requests.push(hold));
    await using _hold = await mutex.acquire({ data: bytes('a holder') });
    await page
      .getByRole('button', { name: `${lab.path}/asked` })
      .first()
      .click();
    const ask = page.getByRole('button', { name: /^Ask to release: a holder/ });
    await ask.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await ask.click();
    expect(requests).to.have.length(0);
    await page.getByRole('dialog').getByRole('button', { name: 'Ask to release' }).click();
    await page.getByRole('status').getByText('Asked to release:').waitFor();
    await page.locator('.badge.asked').first().waitFor();
    // The holder has a connection of its own, on which the request may come later.
    await until('the holder has got the request', () => requests.length > 0);
    expect(requests).to.have.length(1);
  });

  it('takes a lock away only after a confirmation, and counts the loss', async () => {
    const page = await shown.open({ allowRevoke: true });
    await using hold = await at('taken').acquire({ data: bytes('a holder') });
    await page
      .getByRole('button', { name: `${lab.path}/taken` })
      .first()
      .click();
    await page.getByRole('button', { name: /^Take away: a holder/ }).click();
    await page.getByRole('dialog').getByText('is told to stop').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Take away' }).click();
    await page.getByRole('status').getByText('Taken away:').waitFor();
    expect(hold.isValid).to.equal(false);
    await page.locator('#total-losses', { hasText: '1' }).waitFor();
  });

  it('has no buttons to take locks unless that is allowed', async () => {
    const page = await shown.open();
    await using _hold = await at('safe').acquire();
    await page.getByRole('button', { name: `${lab.path}/safe` }).click();
    await page.locator('.participants').waitFor();
    expect(await page.locator('.participants button').count()).to.equal(0);
  });

  for (const colorScheme of ['light', 'dark'] as const)
    it(`fits a phone, in ${colorScheme}: nothing is wider than the screen`, async () => {
      const page = await shown.open({ colorScheme, viewport: { width: 360, height: 740 }, hasTouch: true });
      const hold = await at(`a-rather-long-name/${'x'.repeat(80)}`).acquire({ data: 'owner' });
      await page.locator('tbody th .path').click();
      const widest = await page.evaluate<number>('document.documentElement.scrollWidth');
      expect(widest).to.be.at.most(360);
      await hold.release();
      expect(await rows(page)).to.have.length.at.most(1);
    });
});
