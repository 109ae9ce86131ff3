// Takes the calls of `reached` out of the compiled files. They mark courses of events for the simulation alone.
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const call = /^(\s*)\(0, reached_js_1\.reached\)\('[^'\n]*'\);$/gm;
const required = /^const reached_js_1 = require\("[./]+(?:support\/)?reached\.js"\);\n/gm;

/** @throws Error if a call is more than a statement of its own, or its name is not a plain string */
export function removeReached(dist) {
  for (const file of readdirSync(dist, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.js')) continue;
    const text = readFileSync(join(dist, file), 'utf8');
    const without = text.replaceAll(call, '$1;').replaceAll(required, '');
    if (without.includes('reached_js_1')) throw new Error(`${file} has a call of reached() that cannot be taken out`);
    if (without !== text) writeFileSync(join(dist, file), without);
  }
  for (const file of ['reached.js', 'reached.d.ts']) rmSync(join(dist, 'support', file));
}
