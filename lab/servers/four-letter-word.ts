import { connect } from 'node:net';

/**
 * Sends a four letter word (`srvr`, `mntr`, `cons`, …) to a ZooKeeper server, and resolves with the complete answer.
 */
export function fourLetterWord(host: string, port: number, word: string, timeoutMs = 2_000): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => socket.write(word));
    const timer = setTimeout(
      () => socket.destroy(new Error(`${host}:${port} did not answer "${word}" within ${timeoutMs} ms`)),
      timeoutMs,
    );
    let answer = '';
    socket.setEncoding('utf8');
    socket.on('data', (text: string) => (answer += text));
    socket.once('error', reject);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}

export type Mode = 'standalone' | 'leader' | 'follower' | 'observer';

// A server that listens but does not serve yet may leave a request unanswered: a short limit allows the next try soon.
const modeLimitMs = 500;

/** The mode that the server reports, or undefined while it does not serve or is not reachable. */
export async function serverMode(host: string, port: number): Promise<Mode | undefined> {
  const answer = await fourLetterWord(host, port, 'srvr', modeLimitMs).catch(() => '');
  return /^Mode: (\w+)/m.exec(answer)?.[1] as Mode | undefined;
}
