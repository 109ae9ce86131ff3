// node --import=tsx test/console/pictures.ts: paints the pictures of docs/pictures, on a real ZooKeeper, with locks of
// every kind.
import { fileURLToPath } from 'node:url';
import type { Browser } from 'playwright-core';
import { LockBoard } from '../../packages/zklock/src/board/lock-board.ts';
import { ConsoleServer } from '../../packages/zklock/src/console/console-server.ts';
import {
  forceRelease,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  LockClient,
} from '../../src/index.ts';
import { startChromium } from '../../lab/programs/chromium.ts';
import { startRealServer } from '../../lab/servers/zookeeper-server.ts';

const folder = fileURLToPath(new URL('../../docs/pictures/', import.meta.url));
const as = (host: string, pid: number): { data: Buffer } => ({ data: Buffer.from(JSON.stringify({ host, pid })) });

await using server = await startRealServer();
await using client = await LockClient.connect(server.connectString);
await using workers = await LockClient.connect(server.connectString);
await using dying = await LockClient.connect(server.connectString);
const board = new LockBoard(client.host, '/locks');
await using console_ = await ConsoleServer.start({ client, board, host: '127.0.0.1', port: 0, allowRevoke: true });
await using browser = await startChromium();

await fill();
await paint(browser, 'console-light.png', { colorScheme: 'light', viewport: { width: 1280, height: 800 } });
await paint(browser, 'console-dark.png', { colorScheme: 'dark', viewport: { width: 1280, height: 800 } });
await paint(browser, 'console-phone.png', { colorScheme: 'light', viewport: { width: 390, height: 844 } });
board.close();
process.exit();

async function fill(): Promise<void> {
  const mutex = (path: string): InterProcessMutex => new InterProcessMutex(workers, `/locks/${path}`);
  await mutex('nightly/backup').acquire(as('cron-1.example', 20_117));
  for (const [index, host] of ['web-2', 'web-5', 'web-1'].entries())
    void mutex('orders/42')
      .acquire(as(`${host}.example`, 4_711 + index))
      .catch(() => undefined);
  const { readLock, writeLock } = new InterProcessReadWriteLock(workers, '/locks/catalogue', as('shop-1.example', 911));
  await readLock.acquire();
  await readLock.acquire();
  void writeLock.acquire().catch(() => undefined);
  const semaphore = new InterProcessSemaphore(workers, '/locks/import', { maxLeases: 2 });
  for (let count = 0; count < 4; count += 1)
    void semaphore.acquire(as(`import-${count + 1}.example`, 3_000 + count)).catch(() => undefined);
  const weighted = new InterProcessMutex(workers, '/locks/render', { weights: {} });
  for (const weight of [1, 1, 9])
    void weighted.acquire({ weight, ...as(`gpu-${weight}.example`, 77) }).catch(() => undefined);
  const sticky = new InterProcessMutex(workers, '/locks/mail', { sticky: { idleMs: 600_000 } });
  await (await sticky.acquire()).release();
  for (let count = 0; count < 12; count += 1) {
    const hold = await mutex('payments/eu').acquire(as(`pay-${1 + (count % 3)}.example`, 1_200 + count));
    await new Promise((resolve) => setTimeout(resolve, 450));
    await hold.release();
  }
  await mutex('payments/eu').acquire(as('pay-2.example', 1_214));
  const lost = await new InterProcessMutex(dying, '/locks/reports').acquire(as('old-3.example', 88));
  void mutex('reports')
    .acquire(as('report-1.example', 501))
    .catch(() => undefined);
  await forceRelease(client, lost.path, { timeoutMs: 500 });
}

async function paint(
  browser: Browser,
  name: string,
  options: { colorScheme: 'light' | 'dark'; viewport: { width: number; height: number } },
): Promise<void> {
  await using context = await browser.newContext(options);
  const page = await context.newPage();
  await page.goto(console_.url);
  await page.getByText('live', { exact: true }).waitFor();
  const isPhone = options.viewport.width < 500;
  await page
    .getByRole('button', { name: isPhone ? '/locks/catalogue' : '/locks/orders/42' })
    .first()
    .click();
  if (!isPhone) await page.locator('summary').click();
  await page.locator('.participants').first().waitFor();
  // The click has scrolled the small screen.
  await page.evaluate('scrollTo(0, 0)');
  await page.screenshot({ path: `${folder}${name}`, fullPage: !isPhone });
}
