import { expect } from 'chai';
import { Linter } from 'eslint';

// Imported by its address, because the scripts have no types.
const { usesSurroundings } = (await import(new URL('../../scripts/lint/surroundings.mjs', import.meta.url).href)) as {
  usesSurroundings: { rules: Linter.RulesRecord };
};

describe('the lock takes its clock, its chance and its network as arguments, so ESLint', () => {
  const refused = [
    'setTimeout(run, 5)',
    'setInterval(run, 5)',
    'setImmediate(run)',
    'globalThis.setTimeout(run, 5)',
    'performance.now()',
    'Date.now()',
    'const { now } = Date',
    'new Date()',
    'Date()',
    'process.hrtime()',
    'AbortSignal.timeout(5)',
    'Math.random()',
    'const { random } = Math',
    'crypto.randomUUID()',
    "import { randomUUID } from 'node:crypto'",
    "import * as crypto from 'crypto'",
    "import { setTimeout } from 'node:timers/promises'",
    "import { setTimeout } from 'timers'",
    "import { performance } from 'node:perf_hooks'",
    "import { uptime } from 'node:os'",
    "import net from 'node:net'",
    "import { connect } from 'net'",
    "import tls from 'node:tls'",
    "import dns from 'node:dns/promises'",
  ];
  for (const text of refused)
    it(`refuses ${text}`, () => {
      expect(findings(text)).to.have.lengthOf(1);
    });

  const allowed = [
    'clock.after(5, run)',
    'new Date(stat.createdAtMs)',
    'process.nextTick(run)',
    'chance.random()',
    "import { createHash } from 'node:crypto'",
    "import { isIP, isIPv6 } from 'node:net'",
    "import { createSecureContext } from 'node:tls'",
    "import { hostname } from 'node:os'",
  ];
  for (const text of allowed)
    it(`allows ${text}`, () => {
      expect(findings(text)).to.deep.equal([]);
    });
});

function findings(text: string): string[] {
  const globals = Object.fromEntries(
    ['setTimeout', 'setInterval', 'setImmediate', 'performance', 'crypto'].map((name) => [name, 'readonly' as const]),
  );
  const { rules } = usesSurroundings;
  return new Linter()
    .verify(text, [{ rules, languageOptions: { globals, sourceType: 'module' } }])
    .map(({ message }) => message);
}
