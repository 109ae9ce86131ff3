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

/** The modules of time, chance and network, but for what needs none of them. */
const modules = [
  { group: both('timers', 'timers/*', 'perf_hooks'), message: clock },
  { group: both('os'), importNames: ['uptime'], message: clock },
  { group: both('dns', 'dns/*', 'dgram', 'http', 'https', 'http2'), message: network },
  { group: both('tls'), allowImportNames: ['createSecureContext', 'ConnectionOptions'], message: network },
  { group: both('net'), allowImportNames: ['isIP', 'isIPv4', 'isIPv6'], message: network },
  { group: both('crypto'), allowImportNames: ['createHash'], message: chance },
];

const users = ['src/', 'packages/zklock/src/board/'];
/** The files that make the clock, the chance and the network of the process those of a client. */
const makers = ['support/clock', 'support/chance', 'zookeeper/network/network', 'zookeeper/network/lookup'].map(
  (name) => `src/${name}.ts`,
);

/**
 * The lock takes its clock, its chance and its network as arguments (src/client/surroundings.ts), so that a simulation
 * can replace them. The programs around the lock, and the embedded server, may use those of the process.
 */
export const surroundings = {
  overrides: [
    {
      files: users.map((folder) => `${folder}**/*.ts`),
      rules: {
        'no-restricted-globals': rule(globals, (name) => ({ name })),
        'no-restricted-properties': rule(properties, (each) => {
          const [object, property] = each.split('.');
          return { object, property };
        }),
      },
    },
    { files: makers, rules: { 'no-restricted-globals': 'off', 'no-restricted-properties': 'off' } },
  ],
  makers,
  /** The patterns of the modules that a file of this folder must not import. */
  modulesFor: (folder) => (users.some((user) => `${folder}/`.startsWith(user)) ? modules : []),
};

function rule(banned, of) {
  return [
    'error',
    ...Object.entries(banned).flatMap(([message, all]) => all.map((each) => ({ ...of(each), message }))),
  ];
}

function both(...names) {
  return names.flatMap((name) => [name, `node:${name}`]);
}
