import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { LockClient } from '../../../src/index.ts';
import { sharedZooKeeper } from '../../../lab/hooks.ts';
import { rejection } from '../../../lab/until.ts';
import { entryPoints, type EntryPoint, type Tools } from './entry-points.ts';

class OwnOptions {
  readonly timeoutMs = 5;
}

/** Values that are not plain objects, and how the error names them. */
const refused: readonly [string, () => unknown, string][] = [
  ['null', () => null, 'null'],
  ['an array', () => [{ timeoutMs: 5 }], 'an array'],
  ['a Map', () => new Map([['timeoutMs', 5]]), 'a Map'],
  ['a Date', () => new Date(), 'a Date'],
  ['a Promise', () => Promise.resolve({ timeoutMs: 5 }), 'a Promise'],
  ['an instance of a class', () => new OwnOptions(), 'an OwnOptions'],
  [
    'an object that inherits its options',
    () => Object.create({ timeoutMs: 5 }) as unknown,
    'an object that inherits from another one',
  ],
  ['an AbortSignal', () => AbortSignal.timeout(60_000), 'an AbortSignal'],
  ['an AbortController', () => new AbortController(), 'an AbortController'],
];

function call(
  { call: act }: EntryPoint,
  tools: Tools,
  options: unknown,
  called = (): void => undefined,
): Promise<unknown> {
  return new Promise((resolve) => resolve(act(tools, options as never, called)));
}

/**
 * Copies the options with getters that record each read option, nested ones included, and whether the call had
 * returned.
 */
function watched(value: unknown, name: string, read: (option: string) => void): unknown {
  if (Array.isArray(value)) return value.map((each) => watched(each, name, read));
  if (
    typeof value !== 'object' ||
    value === null ||
    Object.getPrototypeOf(value) !== Object.prototype ||
    'warn' in value ||
    'allowRetry' in value
  )
    return value;
  const options = {};
  for (const [option, given] of Object.entries(value)) {
    const path = name === '' ? option : `${name}.${option}`;
    const nested: unknown = watched(given, path, read);
    Object.defineProperty(options, option, { enumerable: true, get: () => (read(path), nested) });
  }
  return options;
}

describe('the options', () => {
  let tools: Tools;

  before(async () => {
    const { connectString } = await sharedZooKeeper();
    tools = { connectString, client: await LockClient.connect(connectString) };
  });

  after(() => tools.client.close());

  it('are all tested here, as the API report lists them', () => {
    const report = ['zookeeper-fair-lock', 'opentelemetry']
      .map((name) => readFileSync(new URL(`../../../api/${name}.api.md`, import.meta.url), 'utf8'))
      .join('\n');
    const calls = new Set<string>();
    // A class has the methods of the class that it extends.
    const heirs = [...report.matchAll(/^export class (\w+) extends (\w+)/gm)];
    let owner = '';
    for (const line of report.split('\n')) {
      owner = /^export (?:abstract )?(?:class|interface) (\w+)/.exec(line)?.[1] ?? owner;
      const [, isFunction, name = ''] =
        /^(export function )?(?:\s*static)?\s*(\w+)(?:<\w+>)?\(.*\boptions\??: /.exec(line) ?? [];
      if (isFunction) calls.add(name);
      else if (name !== '' && !owner.endsWith('Error') && owner !== 'PartOfMultiLock') {
        const owners = heirs.filter(([, , parent]) => parent === owner).map(([, heir]) => heir);
        for (const each of owners.length > 0 ? owners : [owner]) calls.add(`${each}.${name}`);
      }
    }
    expect([...calls].sort()).to.deep.equal([...new Set(entryPoints.map(({ name }) => name))].sort());
  });

  for (const entry of entryPoints) {
    const title = `${entry.name}${entry.what === 'sticky' || entry.what === 'weights' ? ` for \`${entry.what}\`` : 'weight' in entry.options() ? ' with weights' : ''}`;
    describe(`of ${title}`, () => {
      for (const [description, value, shown] of refused)
        it(`are refused if given as ${description}`, async () => {
          const error = await rejection(call(entry, tools, value()));
          expect(error).to.be.instanceOf(TypeError);
          expect(error.message).to.match(
            new RegExp(`^Expected \`${entry.what} options\` to be a plain object with .*, got ${shown}`),
          );
          if ('signal' in entry.options() && description === 'an AbortSignal')
            expect(error.message).to.match(/: pass it as \{ signal \}$/);
          if ('signal' in entry.options() && description === 'an AbortController')
            expect(error.message).to.match(/: pass its signal as \{ signal \}$/);
        });

      it('are refused if one is unknown', async () => {
        const error = await rejection(call(entry, tools, { ...entry.options(), timeout: 5 }));
        expect(error).to.be.instanceOf(TypeError);
        expect(error.message).to.contain(`Unknown option \`timeout\` of ${entry.what}`);
      });

      it('are each read once, before the call returns', async () => {
        const reads: string[] = [];
        let hasReturned = false;
        const options = watched(entry.options(), '', (option) =>
          reads.push(hasReturned ? `${option}, afterwards` : option),
        );
        const expected: string[] = [];
        JSON.stringify(watched(entry.options(), '', (option) => expected.push(option)));
        await call(entry, tools, options, () => (hasReturned = true));
        expect(hasReturned).to.equal(true);
        expect(reads.sort()).to.deep.equal(expected.sort());
      });
    });
  }
});
