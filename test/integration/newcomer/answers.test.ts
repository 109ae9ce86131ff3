import { expect } from 'chai';
import { labOfEachTest } from '../../../harness/lab.ts';
import { rejection } from '../../../harness/until.ts';
import type { Answer, Mistake, Scene } from './mistake.ts';
import { acquiring, connecting, making, rights } from './options.ts';
import { others, permissions, servers, waits } from './troubles.ts';

const chapters: Readonly<Record<string, readonly Mistake[]>> = {
  'an option of connect()': connecting,
  'an account, or an ACL': rights,
  'what makes a lock': making,
  'an acquire': acquiring,
  'a server that is not there': servers,
  'a missing permission': permissions,
  'a lock that is not had in time': waits,
  'what is not held, not there, or in the way': others,
};

describe('the answer to a newcomer', () => {
  const lab = labOfEachTest('newcomer', { server: 'own', proxy: true, client: { sessionTimeoutMs: 30_000 } });
  let cleanUps: (() => unknown)[];
  let scene: Scene;
  /** Each text that was answered so far, without what differs from run to run, and to what. */
  const troubles = new Map<string, string>();

  beforeEach(() => {
    cleanUps = [];
    const { path, client, other } = lab;
    scene = {
      lab,
      path,
      client,
      other,
      connect: (options) => lab.connect(options, lab.connectString),
      defer: (cleanUp) => void cleanUps.push(cleanUp),
    };
  });

  const act = async (mistake: Mistake): Promise<Error & { code?: string }> => {
    try {
      return await rejection(new Promise((resolve) => resolve(mistake.act(scene))));
    } finally {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
    }
  };

  const check = (error: Error & { code?: string }, { is, code, thing, value, todo, secret }: Answer): void => {
    expect(error.name).to.equal(is);
    expect(error.code).to.equal(code);
    for (const [what, said] of Object.entries({ thing, value, todo })) {
      if (typeof said === 'string') expect(error.message, what).to.contain(said);
      else expect(error.message, what).to.match(said);
    }
    if (secret !== undefined) expect(error.message).not.to.contain(secret);
  };

  for (const [chapter, mistakes] of Object.entries(chapters)) {
    describe(`about ${chapter} names the thing, the value, and what to do:`, () => {
      for (const mistake of mistakes) {
        it(mistake.done, async () => {
          const error = await act(mistake);
          check(error, mistake.answer(scene));
          const text = anonymous(error.message, scene.path);
          const trouble = mistake.trouble ?? mistake.done;
          expect(troubles.get(text) ?? trouble, 'the trouble that had this very text').to.equal(trouble);
          troubles.set(text, trouble);
        });
      }
    });
  }
});

/** Without what differs from run to run: paths, ids, ports, times, and amounts. */
function anonymous(message: string, path: string): string {
  return message
    .replaceAll(path, '<path>')
    .replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '<uuid>')
    .replaceAll(/0x[0-9a-f]+/g, '<session>')
    .replaceAll(/\d+/g, '<number>');
}
