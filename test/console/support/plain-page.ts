import { startChromium } from '../../../lab/programs/chromium.ts';

/** A page that tells when the row of a lock has been painted. */
export interface PaintedPage extends AsyncDisposable {
  /** Resolves when the page shows this number of locks. */
  shows(locks: number): Promise<void>;
  /** Resolves with the time, by `performance.now()` of this process, at which the row of the lock was painted. */
  painted(path: string): Promise<number>;
}

/** Tells the paths of new rows, one frame after they are in the document: then they are on the screen. */
const script = `
  addEventListener('DOMContentLoaded', () => {
    new MutationObserver((changes) => {
      const paths = changes.flatMap(({ addedNodes }) =>
        [...addedNodes].flatMap((node) => [...(node.querySelectorAll?.('th .path') ?? [])].map((one) => one.textContent)));
      if (paths.length > 0) requestAnimationFrame(() => setTimeout(() => paths.forEach((path) => window.tellPainted(path))));
    }).observe(document.getElementById('locks'), { childList: true });
  });`;

export async function openPaintedPage(url: string): Promise<PaintedPage> {
  const browser = await startChromium();
  const page = await browser.newPage();
  const waiting = new Map<string, (at: number) => void>();
  await page.exposeFunction('tellPainted', (path: string) => waiting.get(path)?.(performance.now()));
  await page.addInitScript({ content: script });
  await page.goto(url);
  return {
    shows: (locks) => page.locator('#total-locks', { hasText: locks.toLocaleString('en') }).waitFor(),
    painted: (path) => new Promise((resolve) => waiting.set(path, resolve)),
    [Symbol.asyncDispose]: () => browser.close(),
  };
}
