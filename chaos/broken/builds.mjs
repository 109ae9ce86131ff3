/**
 * Builds of the lock that are broken in plausible ways. A run of chaos must find each. `find` must occur exactly once.
 */
export const builds = [
  {
    name: 'a grant without the session check',
    edits: [
      edit('src/zookeeper/session/session.ts', "return this.#beforeGrant !== 'nothing';", 'return false;'),
      edit('src/internals/granting.ts', 'if (!session.isAlive()) {', 'if (session.isAlive() === undefined) {'),
      edit('src/internals/granting.ts', ' || !node.session.isAlive()', ''),
    ],
  },
  {
    name: 'no search by uuid after a lost reply',
    // Later searches of a late create would find the znode, too.
    edits: [
      edit('src/internals/znode/lock-node.ts', 'removeLate(this.session, lost);', 'void removeLate;'),
      edit(
        'src/internals/znode/lock-node.ts',
        'const { names, created } = await findCreated(this.session, lost.parent, lost.uuid);',
        'const { names, created } = { names: [], created: undefined } as Awaited<ReturnType<typeof findCreated>>;',
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
    name: 'a deadline that counts from the newest answer',
    // The fault must hit while another client of this library waits. With Java clients it would often be Java's turn,
    // and the checker does not check their validity.
    java: 0,
    edits: [
      edit(
        'src/zookeeper/session/session-clock.ts',
        "return event.kind === 'read' ? proof : afterWrite(verified(proof, event), event, relayMs(proof.timeoutMs, tickTimeMs));",
        'return { ...proof, provenAt: event.answeredAt, connectSentAt: undefined };',
      ),
      edit('src/zookeeper/network/timeout-parts.ts', 'margin: 10,', 'margin: Infinity,'),
    ],
  },
  {
    name: 'a link within the process that resolves when the first job ends',
    edits: [
      edit(
        'src/mutex/hold.ts',
        '    const { grant } = this;\n',
        '    const { grant } = this;\n    grant.node.resolveLink();\n',
      ),
      edit(
        'src/internals/znode/lock-node.ts',
        '  /** Deletes the znode in the background. Resolves',
        '  resolveLink(): void {\n    const next = this.#follower;\n    if (next) next.#wake("handed-over");\n  }\n\n  /** Deletes the znode in the background. Resolves',
      ),
    ],
  },
  {
    name: 'a delete that is not retried',
    edits: [
      edit(
        'src/internals/znode/node-deletion.ts',
        'for (let tries = 0; node.mayBeThere(); tries += 1) {',
        'for (let tries = 0; tries < 1 && node.mayBeThere(); tries += 1) {',
      ),
    ],
  },
  {
    name: 'a reader that joins the active readers, past a waiting writer',
    edits: [
      edit(
        'src/read-write/read-write-driver.ts',
        'sorted.slice(0, placeOf(sorted, ours)).find(',
        'sorted.slice(0, Math.min(1, placeOf(sorted, ours))).find(',
      ),
    ],
  },
  {
    name: 'one lease too many',
    edits: [
      edit(
        'src/semaphore/lease-driver.ts',
        'return index < this.#maxLeases() ?',
        'return index <= this.#maxLeases() ?',
      ),
    ],
  },
  {
    name: 'a transaction without its guards, on the session that the client has then',
    edits: [
      edit(
        'src/mutex/transaction/commit.ts',
        'multi<readonly unknown[]>(...paths.map(checkExists), ...',
        "multi<readonly unknown[]>(...paths.map(() => checkExists('/')), ...",
      ),
      edit(
        'src/mutex/hold.ts',
        '      session: node.session,\n      paths: () => [this.path],\n      assertValid: () => this.assertValid(),',
        '      get session() {\n        return host.sessions.current;\n      },\n      paths: () => [this.path],\n      assertValid: () => undefined,',
      ),
    ],
  },
  {
    name: 'a leader from a cache',
    edits: [
      edit(
        'src/election/leader-election.ts',
        '      const leader = await this.#acquirer.queue.holder(deadline);',
        '      const leader = (this.cached ??= await this.#acquirer.queue.holder(deadline));',
      ),
      edit(
        'src/election/leader-election.ts',
        '  readonly #host: LockHost;',
        '  cached: Awaited<ReturnType<MutexAcquirer["queue"]["holder"]>>;\n  readonly #host: LockHost;',
      ),
    ],
  },
  {
    name: 'weights: the token of the time when the holder queued up',
    edits: [edit('src/internals/steps.ts', 'grant(attempt, claimed.fencingToken)', 'grant(attempt)')],
  },
  {
    name: 'weights: a claim that ignores another claim',
    edits: [edit('src/weighted/weighted-kind.ts', 'data, this.#look.answers.version)', 'data, -1)')],
  },
  {
    name: 'weights: the heaviest first, without a limit of overtakes',
    edits: [
      edit(
        'src/weighted/weighted-queue.ts',
        'if (head && !head.blocker) return head.child;',
        'if (head) return head.child;',
      ),
    ],
  },
];

export function edit(file, find, replace) {
  return { file, find, replace };
}
