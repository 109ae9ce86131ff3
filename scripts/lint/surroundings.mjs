const clock = 'Use the clock of the client: src/support/clock.ts';
const chance = 'Use the chance of the client: src/support/chance.ts';
const network = 'Use the network of the client: src/zookeeper/network/network.ts';

const globals = {
  [clock]: [
    'setTimeout',
    'setInterval',
    'setImmediate',
    'clearTimeout',
    'clearInterval',
    'clearImmediate',
    'performance',
  ],
  [chance]: ['crypto'],
  'It would hide a timer, or a clock': ['globalThis'],
};
const properties = {
  [clock]: ['Date.now', 'process.hrtime', 'process.uptime', 'AbortSignal.timeout'],
  [chance]: ['Math.random'],
};
/** Selectors of imports, and of calls. */
const syntax = {
  [clock]: [
    'NewExpression[callee.name="Date"][arguments.length=0], CallExpression[callee.name="Date"]',
    'ImportDeclaration[source.value=/^(node:)?(timers.*|perf_hooks)$/]',
    'ImportDeclaration[source.value=/^(node:)?os$/] > ImportSpecifier[imported.name="uptime"]',
  ],
  [network]: [
    'ImportDeclaration[source.value=/^(node:)?(dns|dgram|http|https|http2)\\b/]',
    allOf('tls', '/^(createSecureContext|ConnectionOptions)$/'),
    allOf('net', '/^isIP/'),
  ],
  [chance]: [allOf('crypto', '"createHash"')],
};

/**
 * The lock takes its clock, its chance and its network as arguments (src/client/surroundings.ts), so that a simulation
 * can replace them. The programs around the lock, and the embedded server, may use those of the process.
 */
export const usesSurroundings = {
  files: ['src/**/*.ts', 'packages/zklock/src/board/**/*.ts'],
  ignores: [
    ...['support/clock', 'support/chance', 'zookeeper/network/network', 'zookeeper/network/lookup'].map(
      (name) => `src/${name}.ts`,
    ),
  ],
  rules: {
    'no-restricted-globals': rule(globals, (name) => ({ name })),
    'no-restricted-properties': rule(properties, (each) => {
      const [object, property] = each.split('.');
      return { object, property };
    }),
    'no-restricted-syntax': rule(syntax, (selector) => ({ selector })),
  },
};

function rule(banned, of) {
  return [
    'error',
    ...Object.entries(banned).flatMap(([message, all]) => all.map((each) => ({ ...of(each), message }))),
  ];
}

/** All that a module exports, except names of this form. */
function allOf(module, but) {
  return `ImportDeclaration[source.value=/^(node:)?${module}$/] > :not(ImportSpecifier[imported.name=${but}], Literal)`;
}
