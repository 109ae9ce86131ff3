/**
 * The lock, broken in the ways that tempt: a run of chaos has to notice each. `find` must be there exactly once.
 */
export const builds = [
  {
    name: 'a grant without the session check',
    edits: [
      edit('src/internals/attempt.ts', 'return !this.#node.session.hasTimeToGrant;', 'return false;'),
      edit('src/internals/attempt.ts', "if (!session.isAlive()) return { is: 'over' };", ''),
      edit('src/internals/attempt.ts', ' || !this.#node.session.isAlive()', ''),
    ],
  },
  {
    name: 'no search by uuid after a lost reply',
    edits: [
      edit(
        'src/internals/lock-node.ts',
        'const found = await findCreated(this.session, this.#place.path, this.#uuid);',
        'const found = await Promise.resolve<Awaited<ReturnType<typeof findCreated>>>(undefined);',
      ),
    ],
  },
  {
    name: 'ownership by enterWith',
    edits: [
      edit(
        'src/mutex/lock-context.ts',
        'let storage: AsyncLocalStorage<LockContext | undefined> | undefined;',
        [
          'let storage: AsyncLocalStorage<LockContext | undefined> | undefined;',
          'export function entered(): LockContext {',
          '  storage ??= new AsyncLocalStorage<LockContext | undefined>();',
          "  const context = new LockContext('job', undefined);",
          '  storage.enterWith(context);',
          '  return context;',
          '}',
        ].join('\n'),
      ),
      edit(
        'src/mutex/inter-process-mutex.ts',
        'import { currentContext, innermostContext, LockContext }',
        'import { currentContext, entered, innermostContext, LockContext }',
      ),
      edit(
        'src/mutex/inter-process-mutex.ts',
        "return this.#acquirer.acquire(currentContext(), 'acquire', options);",
        "return this.#acquirer.acquire(currentContext() ?? entered(), 'acquire', options);",
      ),
    ],
  },
  {
    name: 'a deadline that counts from the last answer',
    // It takes a rival of ours at just that moment: Java's clients, whose belief is not judged, would often be the
    // ones.
    java: 0,
    edits: [
      edit(
        'src/zookeeper/session-clock.ts',
        "return event.kind === 'read' ? proof : afterWrite(verified(proof, event), event, relayMs(proof.timeoutMs, tickTimeMs));",
        'return { ...proof, provenAt: event.answeredAt, connectSentAt: undefined };',
      ),
      edit('src/zookeeper/session-clock.ts', 'const marginOfTimeout = 0.1;', 'const marginOfTimeout = 0;'),
    ],
  },
  {
    name: 'a link within the process that resolves when the first job ends',
    edits: [
      edit(
        'src/mutex/hold.ts',
        '    const { grant } = this.shared;\n',
        '    const { grant } = this.shared;\n    grant.node.resolveLink();\n',
      ),
      edit(
        'src/internals/lock-node.ts',
        '  /** Deletes the znode in the background. Resolves',
        '  resolveLink(): void {\n    const next = this.#follower;\n    if (next) next.#wake("handed-over");\n  }\n\n  /** Deletes the znode in the background. Resolves',
      ),
    ],
  },
  {
    name: 'a delete that is not tried again',
    edits: [
      edit(
        'src/internals/lock-node.ts',
        'for (let tries = 0; this.#mayBeThere(); tries += 1) {',
        'for (let tries = 0; tries < 1 && this.#mayBeThere(); tries += 1) {',
      ),
    ],
  },
  {
    name: 'a reader that joins whoever reads, past a writer who waits',
    edits: [
      edit(
        'src/read-write/read-write-driver.ts',
        'sorted.slice(0, placeOf(sorted, ours)).find(',
        'sorted.slice(0, Math.min(1, placeOf(sorted, ours))).find(',
      ),
    ],
  },
  {
    name: 'one lease more than there are',
    edits: [
      edit(
        'src/semaphore/lease-driver.ts',
        'return index < this.#maxLeases() ?',
        'return index <= this.#maxLeases() ?',
      ),
    ],
  },
  {
    name: 'weights: the token of when it queued up',
    edits: [edit('src/internals/attempt.ts', 'this.#grant(claimed.fencingToken)', 'this.#grant()')],
  },
  {
    name: 'weights: a claim that takes no notice of another one',
    edits: [edit('src/weighted/weighted-kind.ts', 'data, this.#look.version)', 'data, -1)')],
  },
  {
    name: 'weights: the heaviest first, however often others were overtaken',
    edits: [
      edit(
        'src/weighted/weighted-queue.ts',
        'if (head && !head.blocker) return head.child;',
        'if (head) return head.child;',
      ),
    ],
  },
];

function edit(file, find, replace) {
  return { file, find, replace };
}
