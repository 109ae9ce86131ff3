import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { boardJson } from '../board/board-json.js';
import type { LockBoard } from '../board/lock-board.js';
import type { LockClient } from '../../../../src/client/lock-client.js';
import { Control } from './control.js';
import { EventStream } from './event-stream.js';
import { readPageFiles, type PageFile } from './page-files.js';
import { refusalOf } from './request-guard.js';

/** The board of the console, and its address. */
export interface ConsoleOptions {
  readonly client: LockClient;
  readonly board: LockBoard;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** True to let the page ask for locks and take locks. */
  readonly allowRevoke: boolean;
  /**
   * How long a connection may take to send its request, and how long it may take no byte of an answer, in milliseconds.
   *
   * @default 10000
   */
  readonly stalledMs?: number;
}

/** The web console: one page, its live events, and the same content as JSON. */
export class ConsoleServer implements AsyncDisposable {
  readonly #options: ConsoleOptions;
  readonly #stalledMs: number;
  readonly #server: Server;
  readonly #stream: EventStream;
  readonly #control: Control;
  readonly #files: ReadonlyMap<string, PageFile>;

  /** Resolves when the console listens. Rejects if the port cannot be opened. */
  static async start(options: ConsoleOptions): Promise<ConsoleServer> {
    const server = new ConsoleServer(options);
    try {
      server.#server.listen(options.port, options.host);
      await once(server.#server, 'listening');
    } catch (error) {
      server.#stream.close();
      throw error;
    }
    return server;
  }

  private constructor(options: ConsoleOptions) {
    const { client, board, allowRevoke } = options;
    // A page of another site cannot read it, so it cannot make requests that change something.
    const token = allowRevoke ? randomBytes(32).toString('base64url') : '';
    this.#options = options;
    this.#files = readPageFiles(token);
    this.#stalledMs = options.stalledMs ?? 10_000;
    this.#stream = new EventStream(board, allowRevoke, this.#stalledMs);
    this.#control = new Control(client, board, token);
    // Else a connection that sends nothing keeps its place for up to 90 s.
    const limits = {
      headersTimeout: this.#stalledMs,
      requestTimeout: this.#stalledMs,
      connectionsCheckingInterval: this.#stalledMs / 10,
    };
    this.#server = createServer(limits, (request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        response.destroy(error instanceof Error ? error : undefined);
      });
    });
    // Else a connection that sends a thousand requests and reads nothing keeps a thousand answers in memory.
    this.#server.maxRequestsPerSocket = 1;
  }

  /** The address to open in a browser. */
  get url(): string {
    const { address, port, family } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stream.close();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of headers) response.setHeader(name, value);
    const { method = 'GET', url = '/' } = request;
    // A client that reads nothing keeps memory, and a place among the pages. Node.js starts this time anew whenever the
    // connection takes bytes, so that a slow client is not cut. A change is excepted, because it waits for ZooKeeper.
    if (method !== 'POST') response.setTimeout(this.#stalledMs);
    const { pathname, searchParams } = new URL(url, 'http://console');
    const refusal = refusalOf(
      {
        host: request.headers.host,
        origin: request.headers.origin,
        fetchSite: headerOf(request, 'sec-fetch-site'),
        isPage: pathname === '/' && method === 'GET',
        localAddress: request.socket.localAddress,
      },
      this.#options.host,
    );
    if (refusal !== undefined) json(response, 403, { error: refusal });
    else if (method === 'POST') await this.#change(pathname, request, response);
    // Node.js leaves the body out. A stream has no end.
    else if (method === 'GET' || (method === 'HEAD' && pathname !== '/api/events'))
      this.#read(pathname, searchParams, response);
    else json(response, 405, { error: `${method} is not known here` });
  }

  #read(pathname: string, query: URLSearchParams, response: ServerResponse): void {
    const { board } = this.#options;
    const file = this.#files.get(pathname.slice(1));
    if (file) {
      response.writeHead(200, { 'content-type': file.type, 'content-length': file.body.length });
      response.end(file.body);
    } else if (pathname === '/api/locks') {
      json(response, 200, boardJson(board, query.get('path') ?? undefined));
    } else if (pathname === '/api/events') {
      const refusal = this.#stream.open(response, response.req.socket.remoteAddress ?? '');
      if (refusal !== undefined) json(response, 503, { error: refusal });
    } else json(response, 404, { error: `There is no ${pathname} here` });
  }

  async #change(pathname: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const what = pathname === '/api/revoke' ? 'revoke' : pathname === '/api/release' ? 'release' : undefined;
    if (what === undefined) json(response, 404, { error: `There is no ${pathname} here` });
    else if (!this.#options.allowRevoke)
      json(response, 403, { error: 'This console only shows: start it with --allow-revoke' });
    else {
      const { status, content } = await this.#control.answer(what, request);
      json(response, status, content);
    }
  }
}

/** Nothing but the console's own files is loaded, and no page can frame the console. A connection gets one answer. */
const headers: readonly (readonly [string, string])[] = [
  [
    'content-security-policy',
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  ],
  ['x-content-type-options', 'nosniff'],
  ['x-frame-options', 'DENY'],
  ['referrer-policy', 'no-referrer'],
  ['cross-origin-opener-policy', 'same-origin'],
  ['cross-origin-resource-policy', 'same-origin'],
  ['cache-control', 'no-store'],
  ['connection', 'close'],
];

function json(response: ServerResponse, status: number, content: object): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' });
  response.end(`${JSON.stringify(content)}\n`);
}

function headerOf(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}
