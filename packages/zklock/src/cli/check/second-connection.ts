import {
  readConnectResponse,
  longestConnectResponse,
  type ConnectResponse,
} from '../../../../../src/zookeeper/wire/connect-response.js';
import { nameOf, type Host } from '../../../../../src/zookeeper/wire/connect-string.js';
import { FrameSplitter } from '../../../../../src/zookeeper/wire/frames.js';
import { closeSessionFrame } from '../../../../../src/zookeeper/connection/late-grant.js';
import { systemNetwork, type Link, type TlsSource } from '../../../../../src/zookeeper/network/network.js';
import { OpeningMessages } from '../../../../../src/zookeeper/connection/opening-messages.js';
import { explainTls } from '../../../../../src/zookeeper/network/tls-error.js';
import type { SessionIdentity } from '../../../../../src/zookeeper/wire/wire-session.js';
import { commandErrorText } from '../own-words.js';
import { ok, warn, type Finding } from './finding.js';

/**
 * Makes two connections beside the one of the client: the first for a new session, and the second to resume that
 * session. The first acquire of a client after an idle time makes a second connection, too.
 */
export async function secondConnection(host: Host, how: Dialling): Promise<Finding[]> {
  const subject = 'second connection';
  const links: Link[] = [];
  const name = nameOf(host);
  try {
    const first = await ask(host, how, links, noSession);
    const id = Buffer.alloc(8);
    id.writeBigInt64BE(first.sessionId);
    const second = await ask(host, how, links, { id, password: first.password, lastZxid: 0n });
    return [ok(subject, `${name} accepts it`), judgeResumption(name, first, second)];
  } catch (error) {
    const text = `${name}: ${commandErrorText(error)}`;
    return [
      warn(
        subject,
        text,
        'the first acquire after an idle time takes about a third of the session timeout: look at maxClientCnxns and the firewall',
      ),
    ];
  } finally {
    // On the newest link first, because a session ends only on the link that it has moved to.
    for (const link of links.reverse()) {
      if (!link.destroyed) link.write(closeSessionFrame);
      setTimeout(() => link.destroy(), closingMs);
    }
  }
}

interface Dialling {
  readonly tls: TlsSource | undefined;
  readonly timeoutMs: number;
  /** In milliseconds. */
  readonly sessionTimeoutMs: number;
}

function judgeResumption(name: string, first: ConnectResponse, second: ConnectResponse): Finding {
  const subject = 'resumption';
  if (second.sessionId === first.sessionId) return ok(subject, 'a session goes on when its client reconnects');
  return warn(
    subject,
    `${name} does not resume sessions`,
    'each lost connection loses the locks of its client. Behind a load balancer, name the servers themselves',
  );
}

function ask(
  host: Host,
  { tls, timeoutMs, sessionTimeoutMs }: Dialling,
  links: Link[],
  identity: SessionIdentity,
): Promise<ConnectResponse> {
  return new Promise((resolve, reject) => {
    const link = systemNetwork.connect(host, tls);
    links.push(link);
    const timer = setTimeout(
      () => link.destroy(new Error(`no answer to a further connection within ${timeoutMs / 1_000} s`)),
      timeoutMs,
    );
    const frames = new FrameSplitter(longestConnectResponse);
    let isReady = false;
    link.on(tls ? 'secureConnect' : 'connect', () => {
      isReady = true;
      link.write(new OpeningMessages([]).of(identity, sessionTimeoutMs).connectRequest);
    });
    link.on('data', (chunk: Buffer) => {
      try {
        for (const frame of frames.push(chunk)) {
          clearTimeout(timer);
          resolve(readConnectResponse(frame));
        }
      } catch (error) {
        reject(error);
      }
    });
    link.on('error', () => undefined);
    link.on('close', () => {
      clearTimeout(timer);
      const error = link.errored ?? new Error('it closed a further connection of this host');
      reject(tls ? explainTls(error, host, isReady) : error);
    });
  });
}

const noSession: SessionIdentity = { id: Buffer.alloc(8), password: Buffer.alloc(16), lastZxid: 0n };
const closingMs = 200;
