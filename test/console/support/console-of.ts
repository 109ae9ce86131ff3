import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { LockBoard } from '../../../packages/zklock/src/board/lock-board.ts';
import { ConsoleServer } from '../../../packages/zklock/src/console/console-server.ts';
import { startChromium } from '../../../lab/programs/chromium.ts';
import type { Lab } from '../../../lab/lab.ts';

/** The console of each test, and pages that show it. */
export interface ShownConsole {
  readonly server: ConsoleServer;
  readonly board: LockBoard;
  open(options?: ConsoleTestOptions): Promise<Page>;
}

export interface ConsoleTestOptions extends BrowserContextOptions {
  readonly allowRevoke?: boolean;
  readonly root?: string;
}

/** Starts one browser for the suite. Each test may start a console, which ends with the test. */
export function consoleOfEachTest(lab: Lab): ShownConsole {
  let browser: Browser;
  let shown: OpenConsole;
  before(async () => (browser = await startChromium()));
  beforeEach(() => (shown = new OpenConsole(lab, browser)));
  afterEach(() => shown.close());
  after(() => browser.close());
  return {
    get server() {
      return shown.server;
    },
    get board() {
      return shown.board;
    },
    open: (options) => shown.open(options),
  };
}

class OpenConsole {
  server!: ConsoleServer;
  board!: LockBoard;
  readonly #lab: Lab;
  readonly #browser: Browser;
  readonly #contexts: BrowserContext[] = [];
  #isStarted = false;

  constructor(lab: Lab, browser: Browser) {
    this.#lab = lab;
    this.#browser = browser;
  }

  async open({ allowRevoke = false, root = '/', ...options }: ConsoleTestOptions = {}): Promise<Page> {
    if (!this.#isStarted) {
      this.#isStarted = true;
      this.board = new LockBoard(this.#lab.client.host, root);
      this.server = await ConsoleServer.start({
        client: this.#lab.client,
        board: this.board,
        host: '127.0.0.1',
        port: 0,
        allowRevoke,
      });
    }
    const context = await this.#browser.newContext(options);
    this.#contexts.push(context);
    context.setDefaultTimeout(10_000);
    const page = await context.newPage();
    page.on('pageerror', (error) => {
      throw error;
    });
    await page.goto(this.server.url);
    await page.getByText('live', { exact: true }).waitFor();
    return page;
  }

  async close(): Promise<void> {
    for (const context of this.#contexts) await context.close();
    if (!this.#isStarted) return;
    await this.server[Symbol.asyncDispose]();
    this.board.close();
  }
}
