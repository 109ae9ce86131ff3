import { nameOf, type Host } from '../../../../../src/zookeeper/wire/connect-string.js';
import { systemNetwork, type TlsSource } from '../../../../../src/zookeeper/network/network.js';
import { explainTls } from '../../../../../src/zookeeper/network/tls-error.js';

/**
 * Sends a four-letter word, such as `srvr`, to one server on a connection of its own. Resolves with the answer: the
 * server closes the connection after it.
 */
export function fourLetterWord(
  host: Host,
  word: string,
  { tls, timeoutMs }: { readonly tls: TlsSource | undefined; readonly timeoutMs: number },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = systemNetwork.connect(host, tls);
    const timer = setTimeout(
      () => socket.destroy(new Error(`no answer to ${word} within ${timeoutMs / 1_000} s`)),
      timeoutMs,
    );
    const chunks: Buffer[] = [];
    let isReady = false;
    socket.on(tls ? 'secureConnect' : 'connect', () => {
      isReady = true;
      socket.write(Buffer.from(word));
    });
    socket.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      if (chunks.reduce((sum, { length }) => sum + length, 0) > mostBytes)
        socket.destroy(new Error('a too long answer'));
    });
    socket.on('error', () => {
      const server = nameOf(host);
      const error: NodeJS.ErrnoException = socket.errored ?? new Error(`the connection to ${server} failed`);
      if (isReady && (error.code === 'ECONNRESET' || error.code === 'EPIPE'))
        error.message = `${server} closed the connection without an answer to ${word} (${error.code})`;
      reject(tls ? explainTls(error, host, isReady) : error);
    });
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks).toString());
    });
  });
}

const mostBytes = 1_000_000;
