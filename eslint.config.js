import js from '@eslint/js';
import tseslint from 'typescript-eslint';

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
for (const feature of ['read-write', 'semaphore', 'multi-lock', 'revocation', 'observe'])
  below[feature] = ['mutex', ...below.mutex];

const rooms = Object.keys(below).map((room) => {
  const others = Object.keys(below).filter((other) => other !== room && !below[room].includes(other));
  const patterns = [
    {
      group: ['../index.js', ...others.map((other) => `../${other}/*`)],
      message: `src/${room} may import from: ${below[room].join(', ') || 'nothing of src'}`,
    },
  ];
  const paths = [{ name: 'node-zookeeper-client', message: 'Only src/zookeeper/connection.ts knows it' }];
  return {
    files: [`src/${room}/**/*.ts`],
    ignores: ['src/zookeeper/connection.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns, paths }] },
  };
});

export default tseslint.config(
  { ignores: ['dist/', 'coverage/', 'site/'] },
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
  {
    files: ['test/**/*.ts', 'harness/**/*.ts'],
    rules: {
      '@typescript-eslint/no-unused-expressions': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    files: ['**/*.mjs', '**/*.js'],
    languageOptions: {
      globals: {
        process: 'readonly',
        console: 'readonly',
        URL: 'readonly',
        setTimeout: 'readonly',
        clearTimeout: 'readonly',
      },
    },
  },
);
