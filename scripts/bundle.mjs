import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { root } from './bootstrap.mjs';
import { withoutReached } from './without-reached.mjs';

const options = { absWorkingDir: root, bundle: true, platform: 'node', target: 'node20', format: 'cjs' };

/**
 * Writes the bundles of zklock into its dist. It is started for each command, so its start counts: one file loads faster
 * than 150, and `run` does not pay for the other verbs.
 */
export async function bundleCommand(folder) {
  const files = [
    ...(await bundle(`${folder}/src/cli/bin.ts`, `${folder}/dist/zklock.cjs`)),
    ...(await bundle(`${folder}/src/cli/bin-run.ts`, `${folder}/dist/zklock-run.cjs`, allAtOnce)),
  ];
  writeFileSync(join(root, folder, 'dist/zklock.LICENSES'), licensesOf(files));
}

/**
 * Writes a library into one file, which loads in half the time of 200. The code of src that another package than the
 * lock needs is in its file too, so it depends on no copy of the lock.
 */
export async function bundleLibrary(folder, { exports }) {
  const outfile = join(folder, exports['.'].default);
  await build({
    ...options,
    entryPoints: [`${folder}/src/index.ts`],
    outfile,
    packages: 'external',
    plugins: [withoutMarks],
    define: Object.fromEntries(oftenUsed.map((name) => [name, `$${name}`])),
    banner: { js: `"use strict";\nconst ${oftenUsed.map((name) => `$${name} = ${name}`).join(', ')};` },
  });
  writeFileSync(outfile, withClassNames(readFileSync(outfile, 'utf8')));
}

/** A minifier gives variables short names, but not what is global. */
const oftenUsed = ['Buffer', 'Error', 'Math', 'Number', 'Object', 'Promise', 'RangeError', 'TypeError'];

/** esbuild renames a class that its own body names, so error texts and loggers would show `_LockTimeoutError`. */
function withClassNames(code) {
  const renamed = [...code.matchAll(/^var (\w+) = class _\1\b/gm)];
  return renamed.reduce((text, [, name]) => text.replaceAll(new RegExp(`\\b_${name}\\b`, 'g'), name), code);
}

/** Resolves with the files that the bundle consists of. */
async function bundle(entry, outfile, ...plugins) {
  const { metafile } = await build({
    ...options,
    entryPoints: [entry],
    outfile,
    minify: true,
    metafile: true,
    plugins: [lateBuiltins, ...plugins, withoutMarks],
  });
  return Object.keys(metafile.inputs);
}

/** Takes out what only the simulation needs. */
const withoutMarks = {
  name: 'without marks',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]src[/\\].*[.]ts$/ }, ({ path }) => ({
      contents: withoutReached(readFileSync(path, 'utf8')),
      loader: 'ts',
    }));
  },
};

/**
 * Makes a static import of each `import()` of the command line. What `import()` loads, esbuild puts into functions, with
 * all that it imports itself: then V8 parses nearly the whole bundle twice, and esbuild cannot drop what nobody uses.
 */
const allAtOnce = {
  name: 'all at once',
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]src[/\\]cli[/\\].*[.]ts$/ }, ({ path }) => {
      const imports = [];
      const text = readFileSync(path, 'utf8').replace(/\bimport\(('[^']+')\)/g, (_, from) => {
        const name = `imported${imports.push(from)}`;
        return `Promise.resolve(${name})`;
      });
      const statements = imports.map((from, index) => `import * as imported${index + 1} from ${from};`);
      return { contents: [...statements, text].join('\n'), loader: 'ts' };
    });
  },
};

/**
 * Node.js needs several milliseconds to load each of these modules. A session without TLS needs no TLS, and the others
 * can load while the servers answer. So the bundles load each at the first use of one of its functions.
 */
const lateBuiltins = {
  name: 'late builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^node:(crypto|dns|tls)$/ }, ({ path, namespace }) =>
      namespace === 'late' ? { path, external: true } : { path, namespace: 'late' },
    );
    onLoad({ filter: /^/, namespace: 'late' }, async ({ path }) => ({
      contents: `for (const name of ${JSON.stringify(Object.keys(await import(path)))})
        Object.defineProperty(exports, name, { enumerable: true, get: () => require('${path}')[name] });`,
    }));
  },
};

/** The licenses of the packages whose code is in the bundles, as these licenses ask for. */
function licensesOf(files) {
  const packages = new Set(files.flatMap((file) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? []));
  return [...packages]
    .sort()
    .map((name) => `${name}\n\n${readFileSync(join(root, 'node_modules', name, 'LICENSE'), 'utf8').trim()}\n`)
    .join('\n');
}
