/**
 * The lock takes its clock, its chance and its network as arguments (src/client/surroundings.ts), so that a simulation
 * can replace them. The programs around the lock, and the embedded server, may use those of the process.
 */
export const usesSurroundings = {
  files: ['src/**/*.ts', 'packages/zklock/src/board/**/*.ts'],
  ignores: [
    'src/support/clock.ts',
    'src/support/chance.ts',
    'src/zookeeper/network/network.ts',
    'src/zookeeper/network/lookup.ts',
  ],
  rules: {
    'no-restricted-globals': [
      'error',
      ...['setTimeout', 'setInterval', 'setImmediate', 'clearTimeout', 'clearInterval', 'clearImmediate'].map(
        (name) => ({ name, message: 'Use the clock of the client: src/support/clock.ts' }),
      ),
      { name: 'performance', message: 'Use the clock of the client: src/support/clock.ts' },
      { name: 'crypto', message: 'Use the chance of the client: src/support/chance.ts' },
      { name: 'globalThis', message: 'It would hide a timer, or a clock' },
    ],
    'no-restricted-properties': [
      'error',
      { object: 'Date', property: 'now', message: 'Use the clock of the client: src/support/clock.ts' },
      { object: 'process', property: 'hrtime', message: 'Use the clock of the client: src/support/clock.ts' },
      { object: 'process', property: 'uptime', message: 'Use the clock of the client: src/support/clock.ts' },
      { object: 'AbortSignal', property: 'timeout', message: 'Use the clock of the client: src/support/clock.ts' },
      { object: 'Math', property: 'random', message: 'Use the chance of the client: src/support/chance.ts' },
    ],
    'no-restricted-syntax': [
      'error',
      {
        selector: 'NewExpression[callee.name="Date"][arguments.length=0], CallExpression[callee.name="Date"]',
        message: 'Use the clock of the client: src/support/clock.ts',
      },
      {
        selector: 'ImportDeclaration[source.value=/^(node:)?(timers.*|perf_hooks)$/]',
        message: 'Use the clock of the client: src/support/clock.ts',
      },
      {
        selector: 'ImportDeclaration[source.value=/^(node:)?(dns|dgram|http|https|http2)\\b/]',
        message: 'Use the network of the client: src/zookeeper/network/network.ts',
      },
      {
        selector:
          'ImportDeclaration[source.value=/^(node:)?tls$/] > :not(ImportSpecifier[imported.name=/^(createSecureContext|ConnectionOptions)$/], Literal)',
        message: 'Use the network of the client: src/zookeeper/network/network.ts',
      },
      {
        selector:
          'ImportDeclaration[source.value=/^(node:)?net$/] > :not(ImportSpecifier[imported.name=/^isIP/], Literal)',
        message: 'Use the network of the client: src/zookeeper/network/network.ts',
      },
      {
        selector:
          'ImportDeclaration[source.value=/^(node:)?crypto$/] > :not(ImportSpecifier[imported.name="createHash"], Literal)',
        message: 'Use the chance of the client: src/support/chance.ts',
      },
      {
        selector: 'ImportDeclaration[source.value=/^(node:)?os$/] > ImportSpecifier[imported.name="uptime"]',
        message: 'Use the clock of the client: src/support/clock.ts',
      },
    ],
  },
};
