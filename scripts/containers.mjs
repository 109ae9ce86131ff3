// npm run suite -- containers [--keep-engine] [mocha's options]: tests with the real ZooKeeper image, first one server,
// then an ensemble of three
import { bootstrap } from './bootstrap.mjs';
import { runMocha } from './mocha.mjs';

bootstrap();
const { register } = await import('tsx/esm/api');
register();
const [{ openEngine }, { ensureImage }, { ComposeEnsemble }, { sharedServerTests }, { AdviceError }] =
  await Promise.all([
    import('../lab/servers/docker/engine.ts'),
    import('../lab/servers/docker/image.ts'),
    import('../lab/servers/docker/compose-ensemble.ts'),
    import('../lab/servers/docker/shared-server-tests.ts'),
    import('../lab/servers/docker/advice.ts'),
  ]);

const args = process.argv.slice(2);
const keep = args.includes('--keep-engine');
const options = args.filter((argument) => argument !== '--keep-engine');

// The signal also ends the running tests. This process continues, so that it can stop what it has started.
let isInterrupted = false;
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => (isInterrupted = true));

try {
  process.exitCode = await inContainers();
} catch (error) {
  console.error(error instanceof AdviceError ? error.message : error);
  process.exitCode = 1;
}

async function inContainers() {
  process.env.TEST_WORLD = 'real';
  const engine = await openEngine({ keep });
  console.log(`Docker engine: ${engine.how}`);
  try {
    process.env.ZOOKEEPER_IMAGE = await ensureImage();
    return await allOf(againstOne, againstThree, membersOfThree);
  } finally {
    await engine.stop();
  }
}

/** Continues after a failure, so that one run reports all of them. */
async function allOf(...runs) {
  let exitCode = 0;
  for (const run of runs) {
    if (isInterrupted) return exitCode || 1;
    exitCode = (await run()) || exitCode;
  }
  return exitCode;
}

function againstOne() {
  delete process.env.ZOOKEEPER_CONNECT;
  return tests('test/containers/single.test.ts', ...sharedServerTests());
}

async function againstThree() {
  const ensemble = await ComposeEnsemble.start();
  try {
    process.env.ZOOKEEPER_CONNECT = ensemble.connectString;
    return await tests('test/containers/ensemble.test.ts', ...sharedServerTests());
  } finally {
    await ensemble.stop();
  }
}

/** These tests stop servers, and so they use an ensemble of their own. */
function membersOfThree() {
  return tests('test/containers/members.test.ts');
}

function tests(...files) {
  return runMocha(process.execPath, [...files, ...options]);
}
