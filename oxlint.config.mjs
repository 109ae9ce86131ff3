import { surroundings } from './scripts/lint/surroundings.mjs';

const openingMessages = 'src/zookeeper/connection/opening-messages.ts';

/** Which rooms of src each room may import from: one way, downwards. */
const below = {
  support: [],
  driver: ['support'],
  zookeeper: ['support'],
  client: ['zookeeper', 'support'],
  internals: ['driver', 'client', 'zookeeper', 'support'],
};
below.mutex = ['internals', ...below.internals];
const features = ['read-write', 'semaphore', 'multi-lock', 'sticky', 'weighted', 'revocation', 'observe', 'election'];
for (const feature of features) below[feature] = ['mutex', ...below.mutex];
/** The rooms inside a room. Each may import from those before it. */
const inside = {
  'src/zookeeper': ['wire', 'network', 'connection', 'session'],
  'src/client': ['options', 'report'],
  'src/internals': ['znode'],
  'packages/testing/src': ['wire', 'tree', 'server'],
};

/** The folders of the other packages, and the rooms of src whose code each may contain. Nothing of src imports them. */
const contents = {
  // The embedded server stands alone: it must not share a mistake with the client that it is tested with.
  'testing/src': ['support'],
  // It knows the tracing channels and the types of their messages, and nothing else of the locks.
  'opentelemetry/src': ['mutex', 'internals', 'client', 'support'],
  // A mechanism of SASL gets from the lock what it needs, because `instanceof` would not know a class of another copy.
  'kerberos/src': ['support'],
  // It takes the types of the lock from `zookeeper-fair-lock`, and nothing else.
  'guards/src': [],
  'zklock/src/board': ['read-write', 'semaphore', 'multi-lock', 'weighted', 'revocation', 'observe', ...below.observe],
};
contents['zklock/src/console'] = contents['zklock/src/board'];
contents['zklock/src/cli'] = Object.keys(below);
/** The folders of one package beside each that each may import from. */
const beside = { 'zklock/src/console': ['board'], 'zklock/src/cli': ['board', 'console'] };

const rooms = Object.keys(below).flatMap((room) => {
  const others = othersOf(room);
  return [
    ...onlyImports(`src/${room}`, `src/${room} may import from: ${below[room].join(', ') || 'nothing of src'}`, others),
    ...roomsInside(
      `src/${room}`,
      others.map((each) => `../${each}`),
    ),
  ];
});

/** The rules of the rooms inside a room, to whose files that room's own `group` applies as well. */
function roomsInside(folder, group) {
  return (inside[folder] ?? []).flatMap((room, at, all) => {
    const message = `${folder}/${room} may import from: ${[...all.slice(0, at), 'what its room may'].join(', ')}`;
    const above = all.slice(at + 1).map((other) => `../${other}/*`);
    return onlyImports(`${folder}/${room}`, message, ['../*.js', ...above, ...group]);
  });
}

/** The imports that a room must not have. */
function othersOf(room) {
  const others = Object.keys(below).filter((other) => other !== room && !below[room].includes(other));
  return ['../index.js', '**/packages/**', ...others.map((other) => `../${other}/**`)];
}

const packages = Object.entries(contents).flatMap(([folder, allowed]) => {
  const others = Object.keys(below).filter((room) => !allowed.includes(room));
  const siblings = ['board', 'console', 'cli'].filter((room) => !beside[folder]?.includes(room));
  const message = `packages/${folder} may import from: ${[...(beside[folder] ?? []), ...allowed].join(', ')}`;
  const lock = [...others, 'index.js'].map((room) => `**/src/${room}${room.endsWith('.js') ? '' : '/**'}`);
  const elsewhere = Object.keys(contents).filter((other) => other.split('/')[0] !== folder.split('/')[0]);
  const group = [...elsewhere.map((other) => `**/${other}/**`), ...lock, ...siblings.map((room) => `../${room}/*`)];
  return [...onlyImports(`packages/${folder}`, message, group), ...roomsInside(`packages/${folder}`, group)];
});

/** The last override that matches a file decides, so that of a folder has all that its files must not import. */
function onlyImports(folder, message, group) {
  const client = ['node-zookeeper-client', 'node-zookeeper-client/*'];
  const known = { group: client, message: `Only ${openingMessages} knows it` };
  const modules = surroundings.modulesFor(folder);
  const only = (files, ...patterns) => ({
    files,
    rules: { 'no-restricted-imports': ['error', { patterns: [{ group, message }, ...patterns] }] },
  });
  const own = (files) => files.filter((file) => file.startsWith(`${folder}/`));
  return [
    only([`${folder}/**/*.ts`], known, ...modules),
    only(own(surroundings.makers), known),
    only(own([openingMessages]), ...modules),
  ].filter(({ files }) => files.length > 0);
}

const errors = (...names) => Object.fromEntries(names.map((name) => [name, 'error']));
const typed = (...names) => errors(...names.map((name) => `typescript/${name}`));
const anythingThrown = { allowThrowingUnknown: true, allowThrowingAny: true };

/** Beside the category `correctness`, which has a part of these rules of TypeScript with types. */
const strict = {
  ...errors(
    'no-var',
    'prefer-const',
    'prefer-rest-params',
    'prefer-spread',
    'no-array-constructor',
    'no-useless-constructor',
  ),
  ...typed(
    'no-confusing-non-null-assertion',
    'no-deprecated',
    'no-dynamic-delete',
    'no-empty-object-type',
    'no-explicit-any',
    'no-extraneous-class',
    'no-generated-empty-object-type',
    'no-invalid-void-type',
    'no-misused-promises',
    'no-mixed-enums',
    'no-namespace',
    'no-non-null-asserted-nullish-coalescing',
    'no-non-null-assertion',
    'no-require-imports',
    'no-unnecessary-boolean-literal-compare',
    'no-unnecessary-condition',
    'no-unnecessary-template-expression',
    'no-unnecessary-type-arguments',
    'no-unnecessary-type-assertion',
    'no-unnecessary-type-constraint',
    'no-unnecessary-type-conversion',
    'no-unnecessary-type-parameters',
    'no-unsafe-argument',
    'no-unsafe-assignment',
    'no-unsafe-call',
    'no-unsafe-enum-comparison',
    'no-unsafe-function-type',
    'no-unsafe-member-access',
    'no-unsafe-return',
    'prefer-literal-enum-member',
    'prefer-reduce-type-parameter',
    'prefer-return-this-type',
    'related-getter-setter-pairs',
    'require-await',
    'unified-signatures',
    'use-unknown-in-catch-callback-variable',
  ),
  'no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
  'typescript/ban-ts-comment': ['error', { minimumDescriptionLength: 10 }],
  'typescript/no-floating-promises': ['error', { ignoreVoid: true }],
  // An abort's reason may be anything, and is passed on as it is.
  'typescript/only-throw-error': ['error', anythingThrown],
  'typescript/prefer-promise-reject-errors': ['error', anythingThrown],
  'typescript/restrict-plus-operands': [
    'error',
    { allowAny: false, allowBoolean: false, allowNullish: false, allowNumberAndString: false, allowRegExp: false },
  ],
  'typescript/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
  'typescript/return-await': ['error', 'error-handling-correctness-only'],
  'typescript/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
};

export default {
  plugins: ['typescript'],
  categories: { correctness: 'error' },
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  ignorePatterns: ['**/dist/', 'coverage/', 'site/', '.cache/'],
  rules: {
    'typescript/require-array-sort-compare': 'off',
    ...errors(
      'no-case-declarations',
      'no-empty',
      'no-fallthrough',
      'no-prototype-builtins',
      'no-redeclare',
      'no-regex-spaces',
      'no-undef',
      'no-unexpected-multiline',
      'no-useless-assignment',
      'preserve-caught-error',
    ),
  },
  overrides: [
    { files: ['**/*.ts'], rules: { ...strict, 'no-undef': 'off', 'no-redeclare': 'off' } },
    ...onlyImports('src', 'src/index.ts may import from every room of src', ['**/packages/**']),
    ...rooms,
    ...packages,
    ...surroundings.overrides,
    {
      files: ['test/**/*.ts', 'packages/*/test/**/*.ts', 'lab/**/*.ts'],
      rules: { 'no-unused-expressions': 'off', 'typescript/require-await': 'off', 'typescript/unbound-method': 'off' },
    },
    {
      files: ['**/*.mjs', '**/*.js', '**/*.cjs'],
      env: { node: true },
      rules: { 'typescript/restrict-template-expressions': 'off', 'typescript/unbound-method': 'off' },
    },
    { files: ['packages/zklock/src/console/page/*.js'], env: { browser: true } },
  ],
};
