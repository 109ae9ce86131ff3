import fc from 'fast-check';
import { openAcl, type AclItem, type Create, type Item, type Request } from '../../../../lab/wire/request.ts';

export type Step = { readonly session: number } & (
  | { readonly does: 'requests'; readonly requests: readonly Request[] }
  | { readonly does: 'reconnect'; readonly as: 'owner' | 'thief' | 'unknown' | 'newer' }
  | { readonly does: 'break'; readonly with: string }
);

export const rootPath = '/t';
/** The znodes below the root at the start of a sequence. */
export const presentPaths = ['/t/a', '/t/b', '/t/a/x'];

/** Only a few paths, so that requests often concern the same znode. */
const usual = ['/t/a', '/t/b', '/t/a/x', '/t', '/t/b/x', '/t/c'];
const deep = [
  '/t/a/y',
  '/t/a/x/k',
  '/t/a/x/k/m',
  '/t/b/-lock-0000000000',
  '/t/b/-lock-0000000001',
  '/t/b/0000000000',
  '/t/b/n0000000002',
  '/t/c/y',
];
const odd = [
  '',
  '/',
  'abc',
  'a/b',
  '/t/',
  '/t/a/',
  '/t//a',
  '//',
  '/t/./a',
  '/t/a/..',
  '/t/...',
  '/t/\u0001',
  '/t/\0',
  '/t/é',
  '/t/\u{1f600}',
  '/t/\ue000',
  '/t/ ',
  '/zookeeper',
  '/zookeeper/config',
  '/zookeeper/quota',
  '/nowhere/at/all',
];
const path: fc.Arbitrary<string | null> = fc.oneof(
  { weight: 60, arbitrary: fc.constantFrom(...usual) },
  { weight: 10, arbitrary: fc.constantFrom(...deep) },
  { weight: 4, arbitrary: fc.constantFrom(...odd) },
);
const nullablePath = fc.oneof({ weight: 80, arbitrary: path }, { weight: 1, arbitrary: fc.constant(null) });
/** Children of the root and of ZooKeeper's own znodes would outlive the sequence. */
const pathToChange = nullablePath.filter(
  (candidate) => candidate !== '/' && candidate?.startsWith('/zookeeper') !== true,
);
/** The number of a sequential child of the root would depend on the sequences before. */
const pathBelow = pathToChange.filter((candidate) => candidate !== rootPath);
const sequentialPath = fc.constantFrom('/t/b/-lock-', '/t/b/', '/t/a/x/n', '/t/a/', '/t/b/n', '/t/c/');

const acl: fc.Arbitrary<readonly AclItem[] | null> = fc.oneof(
  { weight: 40, arbitrary: fc.constant(openAcl) },
  { weight: 4, arbitrary: fc.array(aclItem(), { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constant(null) },
);

function aclItem(): fc.Arbitrary<AclItem> {
  const good = [
    { scheme: 'world', id: 'anyone' },
    { scheme: 'auth', id: '' },
    { scheme: 'digest', id: 'ann:7RJfAeIvrl4zdj6sS2fXrQHDvHM=' },
    { scheme: 'digest', id: 'bob:x' },
    { scheme: 'ip', id: '127.0.0.1' },
    { scheme: 'ip', id: '127.0.0.0/8' },
    { scheme: 'ip', id: '10.0.0.0/8' },
    { scheme: 'ip', id: '0.0.0.0/0' },
  ];
  const bad = [
    { scheme: 'world', id: 'me' },
    { scheme: 'digest', id: 'nobody' },
    { scheme: 'digest', id: 'a:b:c' },
    { scheme: 'digest', id: ':' },
    { scheme: 'digest', id: 'a:' },
    { scheme: 'ip', id: '127.0.0' },
    { scheme: 'ip', id: '127.0.0.1/33' },
    { scheme: 'ip', id: '1.2.3.256' },
    { scheme: 'ip', id: '1.2.3.4/x' },
    { scheme: 'sasl', id: 'a' },
    { scheme: null, id: 'anyone' },
    { scheme: 'world', id: null },
    { scheme: 'digest', id: null },
    { scheme: 'nothing', id: null },
    { scheme: '', id: '' },
    { scheme: 'super', id: '' },
  ];
  const who = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom<(typeof bad)[number]>(...good) },
    { weight: 1, arbitrary: fc.constantFrom<(typeof bad)[number]>(...bad) },
  );
  return fc
    .tuple(fc.constantFrom(31, 1, 2, 4, 8, 16, 15, 30, 0, 64), who)
    .map(([permissions, { scheme, id }]) => ({ permissions, scheme, id }));
}

const data = fc.constantFrom<string | null>('', 'x', 'some data', null, 'y'.repeat(300));
const version = fc.oneof(
  { weight: 12, arbitrary: fc.constant(-1) },
  { weight: 4, arbitrary: fc.constantFrom(0, 1, 2, 99, -2) },
);

const creating = fc.oneof(
  { weight: 8, arbitrary: creation(['create', 'create2'], pathToChange, [0, 0, 1, 1, 4]) },
  { weight: 5, arbitrary: creation(['create', 'create2'], sequentialPath, [2, 3]) },
  { weight: 2, arbitrary: creation(['createContainer'], pathBelow, [4, 4, 4, 0, 2]) },
  // The time to live does not end during the run. Flags for a time to live without a time make the Java server end
  // itself.
  { weight: 2, arbitrary: creation(['createTTL'], pathBelow, [5, 5, 6], [9e9, 2 ** 40 - 1, 2 ** 40, 0, -1]) },
  { weight: 1, arbitrary: creation(['createTTL'], pathBelow, [0, 1, 4], [9e9, 0]) },
  { weight: 1, arbitrary: creation(['create', 'create2', 'createContainer'], pathBelow, [5, 6, 7, -1, 100]) },
);

function creation(
  ops: readonly Create['op'][],
  where: fc.Arbitrary<string | null>,
  flags: readonly number[],
  ttl: readonly number[] = [-1],
): fc.Arbitrary<Create> {
  return fc.record({
    op: fc.constantFrom(...ops),
    path: where,
    data,
    acl,
    flags: fc.constantFrom(...flags),
    ttl: fc.constantFrom(...ttl),
  });
}

const changing = fc.oneof(
  { weight: 4, arbitrary: fc.record({ op: fc.constant('delete'), path: pathOrSpecial(), version }) },
  { weight: 8, arbitrary: fc.record({ op: fc.constant('setData'), path: pathToChange, data, version }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('setData'), path: fc.constant('/zookeeper/config'), data, version }),
  },
) as fc.Arbitrary<Item>;

function pathOrSpecial(): fc.Arbitrary<string | null> {
  return fc.oneof(
    { weight: 10, arbitrary: pathToChange },
    { weight: 1, arbitrary: fc.constantFrom('/', '/zookeeper', '/zookeeper/quota', '/zookeeper/config') },
  );
}

const checking = fc.record({ op: fc.constant('check'), path: nullablePath, version }) as fc.Arbitrary<Item>;
const reading = fc.record({
  op: fc.constantFrom('exists', 'getData', 'getChildren', 'getChildren2'),
  path: nullablePath,
  watch: fc.boolean(),
}) as fc.Arbitrary<Item>;
const readingMany = fc.record({
  op: fc.constantFrom('getData', 'getChildren'),
  path: nullablePath,
  watch: fc.boolean(),
}) as fc.Arbitrary<Item>;

const paths = fc.oneof(
  { weight: 20, arbitrary: fc.array(path, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom(null, [null], ['/t/a', null]) },
);

/** A null among the persistent watches stops the only thread of the Java server. */
const goodPaths = fc.oneof(
  { weight: 20, arbitrary: fc.array(path, { maxLength: 2 }) },
  { weight: 1, arbitrary: fc.constant(null) },
);

const multi = fc.record({
  op: fc.constant('multi' as const),
  items: fc.array(fc.oneof(creating, changing, checking), { maxLength: 4 }),
});
const several = fc.oneof(
  { weight: 6, arbitrary: multi.filter(({ items }) => items.every(isSound)) },
  { weight: 3, arbitrary: fc.record({ op: fc.constant('multiRead'), items: fc.array(readingMany, { maxLength: 4 }) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      op: fc.constantFrom('multi', 'multiRead'),
      items: fc.array(fc.oneof(creating, readingMany, reading), { maxLength: 3 }),
    }),
  },
) as fc.Arbitrary<Request>;

/**
 * The Java server fails on other items. If it fails in the middle of a multi, a request right after the multi sees the
 * multi's earlier changes, which are never made.
 */
function isSound(item: Item): boolean {
  if (!('acl' in item)) return true;
  const hasTime = item.op === 'createTTL' || (item.flags !== 5 && item.flags !== 6);
  return hasTime && (item.acl ?? []).every(({ scheme, id }) => scheme !== null && id !== null);
}

const watching = fc.oneof(
  { weight: 3, arbitrary: fc.record({ op: fc.constant('addWatch'), path, type: fc.constantFrom(0, 1, 1, 0, 2, -1) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      op: fc.constantFrom('removeWatches', 'checkWatches'),
      path: nullablePath,
      type: fc.constantFrom(1, 2, 3, 3, 0, 4),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      op: fc.constantFrom('setWatches', 'setWatches2'),
      zxid: fc.integer({ min: 0, max: 40 }),
      lists: fc.tuple(paths, paths, paths, goodPaths, goodPaths),
    }),
  },
) as fc.Arbitrary<Request>;

const asking = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      op: fc.constantFrom('getACL', 'sync', 'getEphemerals', 'getAllChildrenNumber'),
      path: nullablePath,
    }),
  },
  { weight: 1, arbitrary: fc.record({ op: fc.constantFrom('ping', 'whoAmI') }) },
) as fc.Arbitrary<Request>;

const plain: fc.Arbitrary<Request> = fc.oneof(
  { weight: 10, arbitrary: creating },
  { weight: 6, arbitrary: changing },
  { weight: 8, arbitrary: reading },
  { weight: 5, arbitrary: several },
  { weight: 4, arbitrary: watching },
  { weight: 4, arbitrary: asking },
);

/** If some of these requests were cut short, they would have a null among the persistent watches. */
const bendable = plain.filter(({ op }) => op !== 'setWatches2' && op !== 'addWatch');

/**
 * Until the creation is carried out, the Java server treats this container as an ephemeral znode. A request right after
 * it sees the one or the other.
 */
const ephemeralContainer = creation(['createContainer'], pathBelow, [1, 3]);

/** The Java server has a race: it checks a request right after this one against the old list or the new one. */
const settingAcl = fc.record({ op: fc.constant('setACL' as const), path: pathToChange, acl, version });

/** Requests that are answered out of order, or that end the connection: each is alone in its step. */
const alone: fc.Arbitrary<Request> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('auth' as const),
      scheme: fc.constantFrom('digest', 'digest', 'digest', 'ip', 'world', 'none', null),
      credentials: fc.constantFrom('ann:secret', 'bob:secret', 'carol', '', null, ':'),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ op: 'closeSession' as const }) },
  { weight: 1, arbitrary: ephemeralContainer },
  { weight: 10, arbitrary: settingAcl },
  { weight: 2, arbitrary: multi },
  { weight: 2, arbitrary: checking },
  {
    weight: 6,
    arbitrary: fc.record({
      op: fc.constant('bent' as const),
      request: bendable,
      cut: fc.integer({ min: 0, max: 12 }),
      added: fc.constantFrom('', '', '00', 'ffffffff'),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ op: fc.constant('raw' as const), opcode: fc.constantFrom(...oddOpcodes()), bytes: hex() }),
  },
);

function oddOpcodes(): number[] {
  return [0, -1, 10, 16, 20, 23, 99, 108, 1000, 2 ** 31 - 1, 1, 2, 5, 7, 14, 22, 101, 105, 106, 18, 100, 102, 107, 103];
}

function hex(): fc.Arbitrary<string> {
  return fc.oneof(
    fc.constantFrom('', '00', 'ffffffff', '00000000', '0000000100'),
    fc.uint8Array({ maxLength: 24 }).map((bytes) => Buffer.from(bytes).toString('hex')),
  );
}

const broken = fc.constantFrom(
  'ffffffff',
  '80000000',
  '7fffffff',
  '00100000',
  '00000000',
  '0000000400000001',
  '000000070000000100000b',
  '61626364',
);

const session = fc.integer({ min: 0, max: 2 });

export const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 40,
    arbitrary: fc.record({
      session,
      does: fc.constant('requests' as const),
      requests: fc.array(plain, { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 8, arbitrary: fc.record({ session, does: fc.constant('requests' as const), requests: fc.tuple(alone) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      session,
      does: fc.constant('reconnect' as const),
      as: fc.constantFrom(
        'owner' as const,
        'owner' as const,
        'owner' as const,
        'thief' as const,
        'unknown' as const,
        'newer' as const,
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ session, does: fc.constant('break' as const), with: broken }) },
);

const most = 40;

/** Up to forty requests by three sessions. */
export const sequences: fc.Arbitrary<readonly Step[]> = fc
  .array(steps, { minLength: 1, maxLength: 24, size: 'max' })
  .map((all) => {
    let count = 0;
    return all.filter((step) => (count += step.does === 'requests' ? step.requests.length : 1) <= most);
  });

/**
 * Without the requests that only a broken client sends: bent ones, a check alone, reads among changes, paths and rights that are null, and
 * creates of a transaction whose opcode and flags differ. ZooKeeper 3.9 refuses some of them in another way than 3.8, which the embedded server
 * does not imitate.
 */
export function asClientsSend(sequence: readonly Step[]): readonly Step[] {
  return sequence.flatMap((step): readonly Step[] => {
    if (step.does === 'break') return [];
    if (step.does !== 'requests') return [step];
    const requests = step.requests.filter(isSentByClients);
    return requests.length > 0 ? [{ ...step, requests }] : [];
  });
}

function isSentByClients(request: Request): boolean {
  if (request.op === 'bent' || request.op === 'raw' || request.op === 'check') return false;
  const items: readonly object[] = 'items' in request ? request.items : [];
  const isMulti = request.op === 'multi';
  if (items.some((each) => 'op' in each && (each.op === 'getData' || each.op === 'getChildren') === isMulti))
    return false;
  return [request, ...items].every(
    (each) =>
      !('path' in each && each.path === null) &&
      !('acl' in each && each.acl === null) &&
      !(isMulti && 'flags' in each && 'op' in each && each.op !== opOfFlags[Number(each.flags)]),
  );
}

const opOfFlags: Readonly<Record<number, string>> = {
  0: 'create',
  1: 'create',
  2: 'create',
  3: 'create',
  4: 'createContainer',
  5: 'createTTL',
  6: 'createTTL',
};
