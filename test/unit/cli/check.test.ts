import { expect } from 'chai';
import {
  judgeClock,
  judgeLatency,
  judgeMembers,
  membersIn,
} from '../../../packages/zklock/src/cli/check/client-facts.ts';
import type { Finding } from '../../../packages/zklock/src/cli/check/finding.ts';
import { factsIn, judgeServers, type ServerFacts } from '../../../packages/zklock/src/cli/check/server-facts.ts';

const srvr = (version: string, mode = 'follower'): string =>
  `Zookeeper version: ${version}-4c86ff5f45, built on 2023-10-05 10:34 UTC\nZxid: 0x0\nMode: ${mode}\nNode count: 5\n`;
const conf = (maxClientCnxns: number): string => `clientPort=2181\nmaxClientCnxns=${maxClientCnxns}\n`;
const refused = (word: string): string => `${word} is not executed because it is not in the whitelist.\n`;
const unreachable: ServerFacts = {
  name: 'zk:2181',
  error: new Error('connect ECONNREFUSED'),
  isServing: false,
  version: undefined,
  mode: undefined,
  maxClientCnxns: undefined,
};
const answering = (...answers: (readonly [srvr: string, conf: string])[]): ServerFacts[] =>
  answers.map(([first, second]) => factsIn('zk:2181', first, second));

describe('zklock check, about the servers’ own answers', () => {
  const cases: [what: string, servers: ServerFacts[], subject: string, level: Finding['level'], says: RegExp][] = [
    ['a follower', answering([srvr('3.9.4'), conf(0)]), 'server zk:2181', 'ok', /^3\.9\.4, follower$/],
    ['a server that is down', [unreachable], 'server zk:2181', 'fail', /ECONNREFUSED.*start it/],
    [
      'a server that refuses srvr',
      answering([refused('srvr'), refused('conf')]),
      'server zk:2181',
      'unknown',
      /does not answer srvr.*4lw\.commands\.whitelist/,
    ],
    [
      'a server without a leader',
      answering(['This ZooKeeper instance is not currently serving requests\n', conf(0)]),
      'server zk:2181',
      'fail',
      /not serving.*no leader/,
    ],
    [
      'a server without a leader that serves old data',
      answering([srvr('3.8.0', 'read-only'), conf(0)]),
      'server zk:2181',
      'fail',
      /not serving.*no leader/,
    ],
    [
      'a member of 3.8.4',
      answering([srvr('3.8.4', 'follower'), conf(0)]),
      'server zk:2181',
      'warn',
      /4785\): use 3\.8\.5/,
    ],
    [
      'a member of 3.9.0',
      answering([srvr('3.9.0', 'leader'), conf(0)]),
      'server zk:2181',
      'warn',
      /4785\): use 3\.9\.4/,
    ],
    [
      'a member of 3.9.3',
      answering([srvr('3.9.3', 'leader'), conf(0)]),
      'server zk:2181',
      'warn',
      /4925\): use 3\.9\.4/,
    ],
    ['a member of 3.9.2', answering([srvr('3.9.2', 'leader'), conf(0)]), 'server zk:2181', 'ok', /leader/],
    ['a member of 3.8.40', answering([srvr('3.8.40', 'leader'), conf(0)]), 'server zk:2181', 'ok', /leader/],
    ['a single server', answering([srvr('3.9.3', 'standalone'), conf(0)]), 'server zk:2181', 'ok', /standalone/],
    ['one version', answering([srvr('3.9.2'), conf(0)], [srvr('3.9.2'), conf(0)]), 'versions', 'ok', /^3\.9\.2$/],
    ['servers before 3.5', answering([srvr('3.4.14'), conf(0)]), 'versions', 'fail', /3\.4\.14.*3\.5 or later/],
    ['servers before 3.6', answering([srvr('3.5.10'), conf(0)]), 'versions', 'warn', /3\.5\.10.*from 3\.6 on/],
    [
      'mixed versions',
      answering([srvr('3.9.2'), conf(0)], [srvr('3.8.4'), conf(0)]),
      'versions',
      'warn',
      /3\.8\.4, 3\.9\.2, mixed/,
    ],
    [
      'a server before 3.5 among newer ones',
      answering([srvr('3.10.0'), conf(0)], [srvr('3.4.14'), conf(0)]),
      'versions',
      'fail',
      /^3\.4\.14, 3\.10\.0 /,
    ],
    [
      'servers that are down',
      [unreachable, unreachable],
      'versions',
      'unknown',
      /^no server answers start the servers$/,
    ],
    [
      'limits of servers that are down',
      [unreachable],
      'maxClientCnxns',
      'unknown',
      /^no server answers start the servers$/,
    ],
    ['no version', answering([refused('srvr'), conf(0)]), 'versions', 'unknown', /allow .* srvr/],
    ['no limit of connections', answering([srvr('3.8.0'), conf(0)]), 'maxClientCnxns', 'ok', /no limit/],
    ['a high limit', answering([srvr('3.8.0'), conf(500)]), 'maxClientCnxns', 'ok', /^500 connections/],
    [
      'a low limit at one server',
      answering([srvr('3.8.0'), conf(0)], [srvr('3.8.0'), conf(60)]),
      'maxClientCnxns',
      'warn',
      /^60 connections.*more than 60 processes/,
    ],
    [
      'a server that refuses conf',
      answering([srvr('3.8.0'), refused('conf')]),
      'maxClientCnxns',
      'unknown',
      /allow .* conf/,
    ],
  ];
  for (const [what, servers, subject, level, says] of cases)
    it(`judges ${what} as ${level}`, () => {
      expectFinding(
        judgeServers(servers).find((finding) => finding.subject === subject),
        level,
        says,
      );
    });

  it('lets only servers that do not answer decide that they are unreachable', () => {
    const causes = (servers: ServerFacts[]): unknown[] => judgeServers(servers).map(({ cause }) => cause);
    expect(causes([unreachable])).to.deep.equal(['unreachable', undefined, undefined]);
    expect(causes(answering([srvr('3.4.14'), conf(1)]))).to.deep.equal([undefined, undefined, undefined]);
  });
});

describe('zklock check, about the members of the ensemble', () => {
  const config = (...roles: string[]): string =>
    [...roles.map((role, index) => `server.${index + 1}=zk${index + 1}:2888:3888:${role};0.0.0.0:2181`), 'version=0']
      .join('\n')
      .concat('\n');
  const [voter, observer] = ['participant', 'observer'];

  const cases: [what: string, config: string, hosts: number, level: Finding['level'], says: RegExp][] = [
    ['three members', config(voter, voter, voter), 3, 'ok', /^3 members$/],
    ['a server without members', '', 1, 'warn', /one server.*three or five/],
    ['an ensemble of one', config(voter), 1, 'warn', /one server.*three or five/],
    ['members that may not be read', '', 3, 'unknown', /allow everyone to read/],
    ['an even number', config(voter, voter, voter, voter), 4, 'warn', /^4 members.*one member less/],
    ['three members and an observer', config(voter, voter, voter, observer), 4, 'ok', /^4 members$/],
    ['members that the connect string lacks', config(voter, voter, voter), 1, 'warn', /^3 members, 1 in the connect/],
  ];
  for (const [what, text, hosts, level, says] of cases)
    it(`judges ${what} as ${level}`, () => {
      expectFinding(judgeMembers(membersIn(text), hosts), level, says);
    });
});

describe('zklock check, about its own measurements', () => {
  const many = (tookMs: number): number[] => Array.from({ length: 19 }, () => tookMs);

  const cases: [what: string, finding: Finding, level: Finding['level'], says: RegExp][] = [
    [
      'fast answers',
      judgeLatency('read latency', [...many(2), 9], 30_000),
      'ok',
      /^median 2\.0 ms, longest 9\.0 ms of 20/,
    ],
    ['slow answers', judgeLatency('read latency', [...many(51), 60], 30_000), 'warn', /^median 51\.0 ms.*hand-over/],
    [
      'one answer that takes over a sixth of the session timeout',
      judgeLatency('read latency', [5_001, ...many(2)], 30_000),
      'fail',
      /longest 5001\.0 ms.*Ask for a longer one/,
    ],
    ['a clock that is a second ahead', judgeClock(1_000, 0), 'ok', /differs by 1\.0 s/],
    ['a clock that is over a second ahead', judgeClock(1_100, 50), 'warn', /differs by 1\.1 s.*NTP/],
    ['a clock that is over a second behind', judgeClock(-1_100, 50), 'warn', /differs by 1\.1 s.*NTP/],
    ['a clock whose difference may be due to the slow answer', judgeClock(1_100, 200), 'ok', /differs by 1\.1 s/],
  ];
  for (const [what, finding, level, says] of cases)
    it(`judges ${what} as ${level}`, () => {
      expectFinding(finding, level, says);
    });
});

/** Everything but `ok` has to say what to do. */
function expectFinding(finding: Finding | undefined, level: Finding['level'], says: RegExp): void {
  expect(finding?.level).to.equal(level);
  expect(`${finding?.text} ${finding?.advice}`.trim()).to.match(says);
  expect(finding?.advice === '').to.equal(level === 'ok');
}
