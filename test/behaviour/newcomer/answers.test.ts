import { expect } from 'chai';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection } from '../../../lab/until.ts';
import type { Answer, Mistake, Fixture } from './mistake.ts';
import { acquiring, connecting, making, rights } from './options.ts';
import { others, permissions, servers, waits } from './troubles.ts';

const chapters: Readonly<Record<string, readonly Mistake[]>> = {
  'an option of connect()': connecting,
  'an account, or an ACL': rights,
  'a constructor or a function': making,
  'an acquire': acquiring,
  'a missing server': servers,
  'a missing permission': permissions,
  'a timeout': waits,
  'a wrong hold, path or client': others,
};

describe('a helpful error', () => {
  const lab = labOfEachTest('newcomer', { server: 'own', proxy: true, client: { sessionTimeoutMs: 30_000 } });
  let cleanUps: (() => unknown)[];
  let fixture: Fixture;
  /** Each error text so far, without the parts that change from run to run, and its trouble. */
  const troubles = new Map<string, string>();

  beforeEach(() => {
    cleanUps = [];
    fixture = {
      lab,
      path: lab.path,
      client: lab.client,
      other: lab.other,
      connect: (options) => lab.connect(options, lab.connectString),
      defer: (cleanUp) => void cleanUps.push(cleanUp),
    };
  });

  const act = async (mistake: Mistake): Promise<Error & { code?: string }> => {
    try {
      return await rejection(new Promise((resolve) => resolve(mistake.act(fixture))));
    } finally {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    }
  };

  const check = (error: Error & { code?: string }, { is, code, thing, value, todo, secret }: Answer): void => {
    expect(error.name).to.equal(is);
    expect(error.code).to.equal(code);
    for (const [part, expected] of Object.entries({ thing, value, todo })) {
      if (typeof expected === 'string') expect(error.message, part).to.contain(expected);
      else expect(error.message, part).to.match(expected);
    }
    if (secret !== undefined) expect(error.message).not.to.contain(secret);
  };

  for (const [chapter, mistakes] of Object.entries(chapters))
    describe(`for ${chapter}:`, () => {
      for (const mistake of mistakes)
        it(mistake.done, async () => {
          const error = await act(mistake);
          const answer = mistake.answer(fixture);
          check(error, answer);
          const text = anonymous(error.message, fixture.path);
          const trouble = answer.trouble ?? mistake.done;
          expect(troubles.get(text) ?? trouble, 'the trouble that already has this text').to.equal(trouble);
          troubles.set(text, trouble);
        });
    });
});

/** The message without the parts that change from run to run: paths, ids, ports, times, and amounts. */
function anonymous(message: string, path: string): string {
  return message
    .replaceAll(path, '<path>')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uuid>')
    .replaceAll(/0x[0-9a-f]+/g, '<session>')
    .replaceAll(/\d+/g, '<number>');
}
