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
  // The embedded server stands alone: it must not share a mistake with the client that it is tested with.
  testing: ['support'],
};
below.sticky = below.weighted = ['internals', ...below.internals];
below.mutex = ['sticky', 'weighted', ...below.sticky];
for (const feature of ['read-write', 'semaphore', 'multi-lock', 'revocation', 'observe', 'election'])
  below[feature] = ['mutex', ...below.mutex];
// It knows the tracing channels and the types of their messages, and nothing else of the locks.
below.telemetry = ['mutex', 'internals', 'client', 'support'];
below.board = ['read-write', 'semaphore', 'multi-lock', 'revocation', 'observe', ...below.observe];
below.console = ['board', ...below.board];
// The command line may use every other room but the embedded server. Nothing imports it.
below.cli = Object.keys(below).filter((room) => room !== 'testing');

const rooms = Object.keys(below).map((room) => {
  const others = Object.keys(below).filter((other) => other !== room && !below[room].includes(other));
  const patterns = [
    {
      group: ['../index.js', ...others.map((other) => `../${other}/*`)],
      message: `src/${room} may import from: ${below[room].join(', ') || 'nothing of src'}`,
    },
  ];
  const paths = [{ name: 'node-zookeeper-client', message: 'Only src/zookeeper/opening-messages.ts knows it' }];
  return {
    files: [`src/${room}/**/*.ts`],
    ignores: ['src/zookeeper/opening-messages.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns, paths }] },
  };
});

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
    files: ['src/console/page/*.js'],
    languageOptions: {
      globals: {
        document: 'readonly',
        CustomEvent: 'readonly',
        EventSource: 'readonly',
        fetch: 'readonly',
        requestAnimationFrame: 'readonly',
        setInterval: 'readonly',
      },
    },
  },
);
