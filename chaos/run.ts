import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Trio } from '../lab/servers/trio.ts';
import { Random } from '../lab/random.ts';
import { until } from '../lab/until.ts';
import { connectObserver, type Observer } from '../lab/wire/observer.ts';
import { ClientProcess } from './client-process.ts';
import { HoldUps } from './hold-ups.ts';
import { now, type EndEvent, type HistoryEvent, type ListPart } from '../lab/judge/history.ts';
import { JavaProgram } from './java-program.ts';
import { listIn } from './list-data.ts';
import { dataOf, foldersOf, leasesOf, lockPlans, type LockPlan } from './lock-plan.ts';
import { Nemesis } from './nemesis.ts';
import { NodeProgram } from './node-program.ts';
import type { ChaosOptions } from './options.ts';
import { Register } from './register.ts';

const sessionTimeoutMs = 4_000;
/**
 * ZooKeeper's default. The longer the tick, the less the leader knows about which sessions the followers have heard
 * from.
 */
const tickTimeMs = 2_000;
const syncLimit = 15;
const ownersOfClient = 6;
const threadsOfPeer = 2;
const stickyIdleMs = 200;
const settleLimitMs = 120_000;
const peerSettleLimitMs = 30_000;

/** Runs an ensemble and its clients, and causes faults; resolves with the file of the history. */
export async function run(options: ChaosOptions): Promise<string> {
  const { minutes, seed, out } = options;
  const folder = join(out, `${new Date().toISOString().replaceAll(/[:.]/g, '-')}-seed-${seed}`);
  const classes = join(folder, 'classes');
  mkdirSync(classes, { recursive: true });
  const ours = names('c', options.clients);
  const classPath = await compileJava(options, classes);
  const peers = classPath === '' ? [] : names('j', options.java);
  const fileOf = (name: string): string => join(folder, `${name}.jsonl`);
  const files = ['own', ...ours, ...peers].map(fileOf);
  // A process that is killed at once writes no file.
  for (const file of files) writeFileSync(file, '');
  const record = (event: HistoryEvent): void => appendFileSync(fileOf('own'), `${JSON.stringify(event)}\n`);
  record({
    t: now(),
    type: 'run',
    seed,
    minutes,
    sessionTimeoutMs,
    paths: lockPlans.map(({ path }) => path),
    clients: [...ours, ...peers],
    leases: leasesOf(lockPlans),
    peers,
  });

  await using trio = await Trio.start({ tickTimeMs, syncLimit });
  await using register = await Register.start(record);
  await using observer = await connectObserver(trio.connectString, 'any');
  // ZooKeeper would remove a container when it is empty, and its sequence numbers would start at zero again.
  for (const path of ['/chaos', ...lockPlans.flatMap(({ is, path }) => (is === 'weighted' ? [path] : []))])
    await observer.create(path);
  for (const { path } of lockPlans) await observer.create(dataOf(path));
  using _ = new HoldUps([...ours, ...peers], record);
  const common = { sessionTimeoutMs, registerPort: register.port };
  const programs = [
    ...ours.map((client, index) => {
      // Every third client rests at times: its session becomes quiet, and attaches anew before its next grant.
      // Half of the clients know the servers' tick, which makes their deadlines later. Half have so low an overtaking
      // limit that they often hold back heavier waiters.
      const plan = {
        client,
        seed: seed + 100 * index,
        tickTimeMs: index % 2 === 0 ? tickTimeMs : undefined,
        stickyIdleMs: isSticky(options.sticky, index) ? stickyIdleMs : undefined,
      };
      return new NodeProgram({
        ...common,
        ...plan,
        rests: index % 3 === 1,
        overtakesPerWeight: index < ours.length / 2 ? undefined : 1,
        locks: lockPlans,
        owners: ownersOfClient,
        file: fileOf(client),
      });
    }),
    ...peers.map(
      (client, index) =>
        new JavaProgram(
          {
            ...common,
            client,
            seed: seed + 100 * (ours.length + index),
            locks: lockPlans.filter(({ withPeers }) => withPeers),
            owners: threadsOfPeer,
            file: fileOf(client),
          },
          classPath,
        ),
    ),
  ];
  const clients = await Promise.all(
    programs.map((program) =>
      ClientProcess.start(
        program,
        trio.servers.map(({ port }) => port),
      ),
    ),
  );
  try {
    const world = {
      trio,
      clients,
      observer,
      folders: lockPlans.flatMap(foldersOf),
      random: new Random(seed, 0),
      sessionTimeoutMs,
    };
    await new Nemesis(world, record).rage(now() + minutes * 60_000);
    await trio.whole();
    for (const client of clients) client.order({ is: 'drain' });
    await Promise.all(clients.map(goodbye));
    const left = await whatIsLeft(observer, trio);
    record({ t: now(), ...left, lists: await listsLeft(trio) });
  } finally {
    await Promise.all(clients.map((client) => client.close()));
  }
  rmSync(classes, { recursive: true });
  return merge(folder, files);
}

function names(letter: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${letter}${index + 1}`);
}

/** The class path of the Java clients: an empty one if there is no Java Curator and it cannot be installed. */
async function compileJava({ java }: ChaosOptions, classes: string): Promise<string> {
  if (java === 0) return '';
  try {
    return await JavaProgram.compile(classes);
  } catch (error) {
    console.log(`Without Java Curator: ${error instanceof Error ? error.message : String(error)}`);
    return '';
  }
}

/** The checker requires that each client of this library ended by itself. A peer that does not end is killed. */
async function goodbye(client: ClientProcess): Promise<void> {
  await client.ends(client.isPeer ? peerSettleLimitMs : settleLimitMs);
  if (client.isPeer) await client.kill();
}

function isSticky(sticky: ChaosOptions['sticky'], index: number): boolean {
  return sticky === 'on' || (sticky === 'mixed' && index % 2 === 1);
}

/** Waits a little longer than the limit, so that the checker can report a path that is emptied too late. */
async function whatIsLeft(observer: Observer, trio: Trio): Promise<EndEvent> {
  const leftAt = now();
  const emptyAfterMs: Record<string, number> = {};
  const left: Record<string, string[]> = {};
  do {
    for (const plan of lockPlans) {
      const names = await participantsOf(plan, observer);
      left[plan.path] = names;
      if (names.length === 0) emptyAfterMs[plan.path] ??= now() - leftAt;
    }
    if (Object.values(left).every((names) => names.length === 0)) break;
    await delay(20);
  } while (now() < leftAt + 3 * sessionTimeoutMs);
  return {
    type: 'end',
    left: Object.fromEntries(Object.entries(left).filter(([, names]) => names.length > 0)),
    watches: await watchesLeft(trio),
    emptyAfterMs,
  };
}

/** By an observer that sees all that was answered before. */
async function listsLeft(trio: Trio): Promise<Record<string, ListPart>> {
  await using observer = await connectObserver(trio.connectString);
  const read = async ({ path }: LockPlan): Promise<[string, ListPart]> => [
    path,
    listIn(await observer.read(dataOf(path))),
  ];
  return Object.fromEntries(await Promise.all(lockPlans.map(read)));
}

/** Asks again, because a server may be held up, or may be about to forget the watches of the client that left last. */
async function watchesLeft({ servers }: Trio): Promise<number> {
  let left = NaN;
  const areNone = async (): Promise<boolean> => {
    const answers = await Promise.all(servers.map((server) => server.command('wchs').catch(() => '')));
    const counts = answers.map((answer) => Number(/Total watches:(\d+)/.exec(answer)?.[1]));
    left = counts.reduce((a, b) => a + b, 0);
    return left === 0;
  };
  await until('no watch is left', areNone, 3 * sessionTimeoutMs).catch(() => undefined);
  return left;
}

async function participantsOf(plan: LockPlan, observer: Observer): Promise<string[]> {
  const folders = await Promise.all(
    foldersOf(plan).map(async (folder) => (await observer.children(folder)).map((name) => `${folder}/${name}`)),
  );
  return folders.flat();
}

function merge(folder: string, files: readonly string[]): string {
  const lines = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== ''),
  );
  // A process that was killed may have written only a part of its last line.
  const timed = lines
    .filter((line) => line.endsWith('}'))
    .map((line) => ({ line, t: (JSON.parse(line) as { t: number }).t }));
  timed.sort((a, b) => a.t - b.t);
  const history = join(folder, 'history.jsonl');
  writeFileSync(history, timed.map(({ line }) => `${line}\n`).join(''));
  for (const file of files) rmSync(file);
  return history;
}
