import { request } from 'node:http';

export type EngineAddress = { readonly socketPath: string } | { readonly host: string; readonly port: string };

export interface EngineAnswer {
  readonly status: number;
  readonly body: string;
}

/** The address of the Docker engine: DOCKER_HOST, else the default socket. */
export function engineAddress(): EngineAddress {
  const host = process.env['DOCKER_HOST'] ?? '';
  if (!/^(tcp|http):/.test(host)) return { socketPath: host.replace(/^unix:\/\//, '') || '/var/run/docker.sock' };
  const { hostname, port } = new URL(host);
  return { host: hostname, port };
}

/** Sends a GET to the engine's API. Resolves with undefined if no engine answers in time. */
export function askEngine(path: string, limitMs = 3_000): Promise<EngineAnswer | undefined> {
  return new Promise((resolve) => {
    const ask = request({ ...engineAddress(), path, signal: AbortSignal.timeout(limitMs) }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => (body += text));
      response.once('error', () => resolve(undefined));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }));
    });
    ask.once('error', () => resolve(undefined));
    ask.end();
  });
}

export async function engineAnswers(): Promise<boolean> {
  return (await askEngine('/_ping'))?.status === 200;
}

/** True if a Docker engine answers and has the image. */
export async function dockerHasImage(image: string, limitMs?: number): Promise<boolean> {
  return (await askEngine(`/images/${image}/json`, limitMs))?.status === 200;
}
