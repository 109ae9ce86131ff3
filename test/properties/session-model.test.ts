import { expect } from 'chai';
import { Random } from '../../lab/random.ts';
import { runModel } from '../model/model-twin.ts';
import { runSession } from '../model/real-twin.ts';
import { drawSessionScript } from '../model/session-script.ts';

const seed = Number(process.env['MODEL_SEED'] ?? 1675);
const scripts = Math.max(100, Number(process.env['MODEL_SCRIPTS'] ?? 0));

describe(`the model of a session, in ${scripts} scripts (seed ${seed})`, function () {
  this.timeout(60_000 + scripts * 200);

  const seen = new Map<string, number>();

  it('does the same as the session of src, at the same time', async () => {
    for (let index = 0; index < scripts; index += 1) {
      const script = drawSessionScript(new Random(seed, index));
      const lines = await runSession(script);
      expect(runModel(script), `script ${index}`).to.deep.equal(lines);
      for (const line of lines) {
        const what = line.replace(/^.*: |[,\d].*$/g, '');
        seen.set(what, (seen.get(what) ?? 0) + 1);
      }
    }
  });

  it('is compared in enough cases: each kind of request, outages, losses and expiries', () => {
    for (const [what, least] of [
      ...([
        ['sends write', 1_000],
        ['sends sync', 1_000],
        ['sends ping', 200],
        ['connects to server ', 500],
      ] as const),
      ...([
        ['suspended', 200],
        ['lost', 20],
        ['expired', 20],
        ['attach', 50],
        ['stall', 50],
        ['move up', 50],
      ] as const),
    ])
      expect(seen.get(what), what).to.be.above(least);
  });
});
