import js from '@eslint/js';
import tseslint from 'typescript-eslint';
import { usesSurroundings } from './scripts/lint/surroundings.mjs';

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
    onlyImports(`src/${room}`, `src/${room} may import from: ${below[room].join(', ') || 'nothing of src'}`, others),
    ...roomsInside(
      `src/${room}`,
      others.map((each) => `../${each}`),
    ),
  ];
});

/** The rules of the rooms inside a room, to whose files that room's own `group` applies as well. */
function roomsInside(folder, group) {
  return (inside[folder] ?? []).map((room, at, all) => {
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
  return [onlyImports(`packages/${folder}`, message, group), ...roomsInside(`packages/${folder}`, group)];
});

function onlyImports(folder, message, group) {
  const client = { group: ['node-zookeeper-client', 'node-zookeeper-client/*'] };
  const known = { ...client, message: 'Only src/zookeeper/connection/opening-messages.ts knows it' };
  return {
    files: [`${folder}/**/*.ts`],
    ignores: ['src/zookeeper/connection/opening-messages.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns: [{ group, message }, known] }] },
  };
}

export default tseslint.config(
  { ignores: ['**/dist/', 'coverage/', 'site/', '.cache/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      '@typescript-eslint/no-floating-promises': ['error', { ignoreVoid: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // An abort's reason may be anything, and is passed on as it is.
      '@typescript-eslint/only-throw-error': ['error', { allowThrowingUnknown: true, allowThrowingAny: true }],
      '@typescript-eslint/prefer-promise-reject-errors': [
        'error',
        { allowThrowingUnknown: true, allowThrowingAny: true },
      ],
      '@typescript-eslint/no-non-null-assertion': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
    },
  },
  ...rooms,
  ...packages,
  usesSurroundings,
  {
    files: ['test/**/*.ts', 'packages/*/test/**/*.ts', 'lab/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unused-expressions': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    files: ['**/*.mjs', '**/*.js', '**/*.cjs'],
    languageOptions: {
      globals: {
        require: 'readonly',
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
      },
    },
  },
  {
    files: ['packages/zklock/src/console/page/*.js'],
    languageOptions: {
      globals: {
        document: 'readonly',
        CustomEvent: 'readonly',
        EventSource: 'readonly',
        fetch: 'readonly',
        history: 'readonly',
        location: 'readonly',
        requestAnimationFrame: 'readonly',
        setInterval: 'readonly',
        URLSearchParams: 'readonly',
      },
    },
  },
);
