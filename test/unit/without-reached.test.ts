import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';

const { removeReached } = (await import(new URL('../../scripts/without-reached.mjs', import.meta.url).href)) as {
  removeReached(dist: string): void;
};

describe('the build', () => {
  let dist: string;
  beforeEach(() => {
    dist = mkdtempSync(join(tmpdir(), 'dist-'));
    for (const folder of ['support', 'client']) mkdirSync(join(dist, folder));
    for (const file of ['reached.js', 'reached.d.ts']) writeFileSync(join(dist, 'support', file), '');
  });
  afterEach(() => rmSync(dist, { recursive: true }));

  it('takes the marks of the simulation out, and leaves the statements around them', () => {
    const file = join(dist, 'client', 'ghost.js');
    const mark = "(0, reached_js_1.reached)('ghost: dialled again')";
    writeFileSync(file, `const reached_js_1 = require("../support/reached.js");\nif (a)\n    ${mark};\nb();\n`);
    removeReached(dist);
    expect(readFileSync(file, 'utf8')).to.equal('if (a)\n    ;\nb();\n');
    expect(readdirSync(join(dist, 'support'))).to.deep.equal([]);
  });

  it('fails for a mark that is no statement of its own', () => {
    writeFileSync(join(dist, 'client', 'ghost.js'), "return a && (0, reached_js_1.reached)('b');\n");
    expect(() => removeReached(dist)).to.throw(/client.ghost.js has a call of reached\(\) that cannot be taken out/);
  });
});
