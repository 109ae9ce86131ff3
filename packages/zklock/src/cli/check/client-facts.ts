import { randomUUID } from 'node:crypto';
import { participantName } from '../../board/participant-name.js';
import type { LockHost } from '../../../../../src/client/lock-host.js';
import { commandErrorText } from '../own-words.js';
import {
  absolute,
  createEphemeral,
  createSequential,
  exists,
  getChildren,
  getData,
  remove,
} from '../../../../../src/zookeeper/wire/operations.js';
import { checkExists, checkServers, multi } from '../../../../../src/zookeeper/wire/transaction.js';
import { join, parentsOf } from '../../../../../src/zookeeper/wire/path.js';
import { isZooKeeperError } from '../../../../../src/zookeeper/wire/zookeeper-error.js';
import { fail, ok, unknown, warn, type Finding } from './finding.js';
import { neededOperations } from './needed-operations.js';

/** Checks what only a session of its own can show. */
export class ClientChecks {
  readonly #host: LockHost;
  readonly #path: string;

  constructor(host: LockHost, path: string) {
    this.#host = host;
    this.#path = path;
  }

  async run(hosts: number, askedTimeoutMs: number): Promise<Finding[]> {
    const base = await this.#nearest();
    const facts = [this.#session(askedTimeoutMs), await this.#members(hosts)];
    if (typeof base !== 'string') return [...facts, base];
    const operations = await neededOperations(this.#host, base);
    facts.push(...operations.findings);
    if (!operations.areEnough) return facts;
    return [
      ...facts,
      await this.#latency('read latency', () => this.#host.sessions.current.request(absolute(exists('/')))),
      await this.#latency('write latency', () => this.#host.sessions.current.request(checkServers())),
      await this.#reading(base),
      await this.#rights(base),
      await this.#clocks(base),
    ];
  }

  /** The path, or its nearest ancestor that exists. */
  async #nearest(): Promise<string | Finding> {
    try {
      for (const path of ['/', ...parentsOf(this.#path)].reverse())
        if ((await this.#host.sessions.current.find(exists(path))) !== undefined) return path;
      return fail(
        'chroot',
        'it does not exist',
        'it is created with the first lock, if the rights of its parent allow it',
      );
    } catch (error) {
      return notAllowed('rights', error);
    }
  }

  #session(askedMs: number): Finding {
    const { timeoutMs } = this.#host.sessions;
    const text = `a session of ${timeoutMs / 1_000} s`;
    if (timeoutMs === askedMs) return ok('session', text);
    return warn(
      'session',
      `${text}, where ${askedMs / 1_000} s were asked for`,
      'minSessionTimeout and maxSessionTimeout in zoo.cfg limit it',
    );
  }

  async #members(hosts: number): Promise<Finding> {
    const session = this.#host.sessions.current;
    const config = await session.find(absolute(getData('/zookeeper/config', false))).catch(() => undefined);
    const members = config ? membersIn(config.data.toString()) : [];
    return judgeMembers(members, hosts);
  }

  async #latency(subject: string, ask: () => Promise<unknown>): Promise<Finding> {
    const took: number[] = [];
    try {
      for (let count = 0; count < samples; count += 1) {
        const startedAt = performance.now();
        await ask().catch(unlessRefused);
        took.push(performance.now() - startedAt);
      }
    } catch (error) {
      return fail(subject, commandErrorText(error), 'look at the servers', 'unreachable');
    }
    return judgeLatency(subject, took, this.#host.sessions.timeoutMs);
  }

  async #reading(base: string): Promise<Finding> {
    try {
      await this.#host.sessions.current.find(getChildren(base));
      return ok('right to list', base);
    } catch (error) {
      return notAllowed('right to list', error);
    }
  }

  /** The transaction always fails at its last part, so nothing is changed. The first parts are judged all the same. */
  async #rights(base: string): Promise<Finding> {
    const probe = join(base, `zklock-check-${randomUUID()}`);
    const acl = this.#host.options.aclFor(base);
    try {
      const { value } = await this.#host.sessions.current.request(
        multi(createEphemeral(probe, Buffer.alloc(0), acl), remove(probe), checkExists(`${probe}-none`)),
      );
      const errors = value.is === 'refused' ? value.errors : [];
      const [create, deletion] = errors;
      if (create) return notAllowed('right to create', create);
      if (deletion) return notAllowed('right to delete', deletion);
      return ok('right to create and delete', base);
    } catch (error) {
      return notAllowed('right to create', error);
    }
  }

  /** The servers tell their time only in the Stat of a znode that they have just created. */
  async #clocks(base: string): Promise<Finding> {
    const subject = 'clocks';
    const session = this.#host.sessions.current;
    try {
      const names = (await session.find(getChildren(base))) ?? [];
      // A lock refuses children of another kind, so an acquire at this moment would fail.
      if (this.#mayBeLock(base, names))
        return unknown(subject, `${base} may be a lock, and is left alone`, 'give the path above it');
      const before = Date.now();
      const { value } = await session.request(
        createSequential(join(base, `zklock-check-${randomUUID()}-`), Buffer.alloc(0), this.#host.options.aclFor(base)),
      );
      const after = Date.now();
      await session.request(remove(value.path));
      const aheadMs = value.stat.createdAtMs - (before + after) / 2;
      return judgeClock(aheadMs, after - before);
    } catch (error) {
      return unknown(subject, commandErrorText(error), 'the time is read from a znode that is created for a moment');
    }
  }

  /** A znode with participants is a lock. One with a folder of a semaphore may be one, and so may an empty one. */
  #mayBeLock(base: string, names: readonly string[]): boolean {
    if (names.some((name) => participantName(name) !== undefined)) return true;
    if (base === '/') return false;
    return names.some((name) => foldersOfSemaphore.has(name)) || (base === this.#path && names.length === 0);
  }
}

/** A refusal is an answer, too. */
function unlessRefused(error: unknown): void {
  if (!isZooKeeperError(error, 'NO_AUTH')) throw error;
}

/** The lines of the dynamic configuration that name a server each. */
export function membersIn(config: string): string[] {
  return config.split('\n').filter((line) => /^server\.\d+=/.test(line));
}

/** @param hosts the number of servers in the connect string */
export function judgeMembers(members: readonly string[], hosts: number): Finding {
  const subject = 'ensemble';
  if (members.length === 0 && hosts > 1)
    return unknown(subject, 'the servers do not show their members', 'allow everyone to read /zookeeper/config');
  if (members.length < 2) return warn(subject, 'one server', 'if it fails, no lock can be taken: run three or five');
  const text = `${members.length} members`;
  const voters = members.filter((line) => !line.includes(':observer'));
  if (voters.length % 2 === 0)
    return warn(subject, text, 'an even number survives no more failures than one member less');
  if (hosts < members.length)
    return warn(subject, `${text}, ${hosts} in the connect string`, 'name all members in the connect string');
  return ok(subject, text);
}

export function judgeLatency(subject: string, tookMs: readonly number[], sessionTimeoutMs: number): Finding {
  const sorted = [...tookMs].sort((a, b) => a - b);
  const [median = NaN, most = NaN] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  const text = `median ${median.toFixed(1)} ms, longest ${most.toFixed(1)} ms of ${sorted.length}`;
  if (most > sessionTimeoutMs / 6)
    return fail(
      subject,
      text,
      `the longest is over a sixth of the session timeout: holds may be lost. Ask for a longer one`,
    );
  return median > slowMs ? warn(subject, text, 'every hand-over takes at least that long') : ok(subject, text);
}

/** @param errorMs how long the answer took, in which the leader's clock was read at some moment */
export function judgeClock(aheadMs: number, errorMs: number): Finding {
  const subject = 'clocks';
  const text = `the leader's clock differs by ${(Math.abs(aheadMs) / 1_000).toFixed(1)} s from this machine's`;
  // Exclusion never depends on it: this only says how wrong the ages are.
  return Math.abs(aheadMs) - errorMs > clockLimitMs
    ? warn(subject, text, 'the ages that ls, watch and the console show are wrong by as much: run NTP')
    : ok(subject, text);
}

function notAllowed(subject: string, error: unknown): Finding {
  if (isZooKeeperError(error, 'NO_AUTH', 'INVALID_ACL'))
    return fail(
      subject,
      commandErrorText(error),
      'give credentials by --auth-file, or change the rights with setAcl',
      'not-allowed',
    );
  return fail(subject, commandErrorText(error), 'look at the servers', 'unreachable');
}

const foldersOfSemaphore: ReadonlySet<string> = new Set(['locks', 'leases']);
const samples = 20;
const slowMs = 50;
const clockLimitMs = 1_000;
