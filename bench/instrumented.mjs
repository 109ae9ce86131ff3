// node bench/instrumented.mjs [--groups 3] [--rounds 6] [--seconds 3] [--ratio 0.01]: what metrics and traces cost. A group
// is three processes: without OpenTelemetry, with its SDK only, and with `instrument`; `--ratio` of the traces are sampled.
// Each round runs all of them, in another order. One process would not do: to subscribe to a channel invalidates compiled
// code, and on Node 20 the first context of the SDK slows every promise of the process. Needs `npm run build`, and a
// ZooKeeper at ZOOKEEPER_CONNECT.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, ratiosText } from './cycles.mjs';

const { values } = parseArgs({
  options: {
    groups: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '3' },
    ratio: { type: 'string', default: '0.01' },
  },
});
if (!process.env.ZOOKEEPER_CONNECT) throw new Error('Expected ZOOKEEPER_CONNECT');
const variants = ['none', 'sdk', 'instrumented'];
const units = ['perSecond', 'perCpuSecond'];
const program = fileURLToPath(new URL('instrumented-process.mjs', import.meta.url));

/** One object for each round: the rates of each variant. */
const results = [];
for (let group = 0; group < Number(values.groups); group += 1) results.push(...(await runGroup()));
for (const unit of units) {
  const rates = variants.map((name) => `${name} ${Math.round(median(results.map((result) => result[name][unit])))}`);
  console.log(`spread 64, cycles ${unit}: ${rates.join(', ')}`);
  for (const base of ['sdk', 'none']) {
    const ratios = results.map((result) => result.instrumented[unit] / result[base][unit]);
    console.log(`  instrumented to ${base}: ${ratiosText(ratios)}`);
  }
}

async function runGroup() {
  const processes = variants.map((name) => fork(program, [name, values.ratio]));
  await Promise.all(processes.map((each) => once(each, 'message')));
  const run = async (each) => {
    each.send(Number(values.seconds));
    return (await once(each, 'message'))[0];
  };
  for (const each of processes) await run(each); // warms up
  const rounds = [];
  for (let round = 0; round < Number(values.rounds); round += 1) {
    const result = {};
    for (let step = 0; step < variants.length; step += 1) {
      const index = (round + step) % variants.length;
      result[variants[index]] = await run(processes[index]);
    }
    rounds.push(result);
  }
  for (const each of processes) each.disconnect();
  return rounds;
}
