import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect } from 'chai';
import { isCommand } from '../../../lab/servers/debian-zookeeper.ts';
import { exitCodes } from '../../../packages/zklock/src/cli/exit-code.ts';
import type { Io } from '../../../packages/zklock/src/cli/io.ts';
import { main } from '../../../packages/zklock/src/cli/main.ts';
import { parseArguments } from '../../../packages/zklock/src/cli/parse-arguments.ts';
import { UsageError } from '../../../packages/zklock/src/cli/usage-error.ts';
import type { Verb } from '../../../packages/zklock/src/cli/verb.ts';
import { allVerbs } from '../../../packages/zklock/src/cli/verbs.ts';

describe('the descriptions of the verbs', () => {
  let verbs: Verb[];
  before(async () => void (verbs = await allVerbs()));

  it('have an example each, whose command line their own parser accepts', () => {
    for (const verb of verbs) {
      expect(verb.examples, verb.name).not.to.be.empty;
      for (const [line] of verb.examples) {
        const words = wordsOf(/zklock (?:[^|>&)"]|"[^"]*")*/.exec(line)?.[0] ?? '').slice(1);
        expect(words[0], line).to.equal(verb.name);
        parseArguments(verb, words.slice(1));
      }
    }
  });

  it('give no two options of a verb the same letter, and leave -h to the help', () => {
    for (const verb of verbs) {
      const letters = Object.values(verb.options).flatMap(({ short }) => short ?? []);
      expect(letters, verb.name)
        .to.deep.equal([...new Set(letters)])
        .and.not.to.include('h');
    }
  });

  it('have no option for a secret', () => {
    for (const verb of verbs)
      expect(
        Object.keys(verb.options).filter((name) => /pass|secret|token|credential|^auth$|^key$/.test(name)),
      ).to.deep.equal([]);
  });

  for (const [what, ask] of [
    ['zklock VERB --help', (verb: Verb) => [verb.name, '--help']],
    ['zklock help VERB', (verb: Verb) => ['help', verb.name]],
    ['zklock man', () => ['man']],
    ['zklock completion bash', () => ['completion', 'bash']],
    ['zklock completion zsh', () => ['completion', 'zsh']],
    ['zklock completion fish', () => ['completion', 'fish']],
  ] as const)
    it(`are the source of ${what}: every verb and option is in it`, async () => {
      for (const verb of verbs) {
        const { code, stdout } = await called(...ask(verb));
        expect(code).to.equal(exitCodes.success);
        const text = stdout.replaceAll('\\-', '-');
        expect(text).to.include(verb.name);
        for (const name of Object.keys(verb.options))
          expect(text, what).to.match(what.endsWith('fish') ? new RegExp(`-l ${name}\\b`) : new RegExp(`--${name}\\b`));
      }
    });
});

describe('the command line of zklock', () => {
  it('is a list of verbs for --help, and the same on standard error with exit code 64 without a word', async () => {
    const asked = await called('--help');
    const mistaken = await called();
    expect([asked.code, mistaken.code]).to.deep.equal([0, 64]);
    expect(asked.stdout)
      .to.equal(mistaken.stderr)
      .and.to.match(/Verbs:\n {2}run +run a command while holding a lock\n/);
    expect(mistaken.stdout).to.equal('');
  });

  it('prints the version', async () => {
    expect((await called('--version')).stdout).to.equal('1.2.3\n');
  });

  it('names the verbs after an unknown one, with exit code 64', async () => {
    const { code, stderr } = await called('rum');
    expect(code).to.equal(64);
    expect(stderr)
      .to.match(/^zklock: Unknown verb "rum": the verbs are run, /)
      .and.to.match(/\nTry: zklock --help\n$/);
  });

  it('leaves the words after -- to the command, --help included', async () => {
    const { code, stderr } = await called('run', '-n', '-w', '1', '/a', '--', 'x', '--help');
    expect(code).to.equal(64);
    expect(stderr).to.include('--nonblock and --wait exclude each other');
  });

  const values: [words: string[], option: string, value: unknown][] = [
    [['-w', '2.5'], 'wait', 2_500],
    [['-w.5'], 'wait', 500],
    [['--wait=0'], 'wait', 0],
    [['-E', '0'], 'conflict-exit-code', 0],
    [['-nv'], 'verbose', true],
    [[], 'nonblock', false],
    [[], 'wait', undefined],
  ];
  for (const [words, option, value] of values)
    it(`reads ${[...words, '/a'].join(' ')} as ${option} = ${String(value)}`, async () => {
      const [run] = (await allVerbs()).filter(({ name }) => name === 'run');
      if (!run) throw new Error('There is no verb run');
      expect(parseArguments(run, [...words, '/a', '--', 'true']).options[option]).to.equal(value);
    });

  const mistakes: [line: string, message: string][] = [
    ['run -w -5 /a -- true', 'Expected --wait to be a number of seconds ≥ 0, such as 2.5, got "-5"'],
    ['run --wait /a -- true', 'Expected --wait to be a number of seconds ≥ 0, such as 2.5, got "/a"'],
    ['run -w', 'Expected --wait to be a number of seconds ≥ 0, such as 2.5, got nothing'],
    ['run -E -1 /a -- true', 'Expected --conflict-exit-code to be a whole number from 0 to 255, got "-1"'],
    ['run --slots -3 /a -- true', 'Expected --slots to be a whole number ≥ 1, got "-3"'],
    ['run --acl -n /a -- true', 'Expected --acl to be one of open, creator-only, got "-n"'],
    ['run --data -x /a -- true', 'Expected --data to be STR, got "-x". If it is no option, write --data=-x'],
    ['run --nonblock=no /a -- true', 'Expected --nonblock to have no value, got "no"'],
    ['run --constructor=1 /a -- true', "Unknown option '--constructor'. The options of run are --nonblock, --wait,"],
    ['run -- true', 'PATH is missing'],
    ['release -w -1 /a', 'Expected --wait to be a number of seconds ≥ 0, such as 2.5, got "-1"'],
    ['console --port -1 /', 'Expected --port to be a whole number from 0 to 65535, got "-1"'],
    [
      'ls --session-timeout 99999999 /',
      'Expected --session-timeout to be a number of seconds from 0.001 to 2147483.647, such as 2.5, got "99999999"',
    ],
    ['ls --servers zk:99999 /', 'Expected --servers to be host[:port]'],
    ['run --acl creator-only /a -- true', 'the accounts of --auth-file and of --tls-cert, and none is given'],
  ];
  for (const [line, message] of mistakes)
    it(`names the option, the value and what is accepted after ${line}`, async () => {
      const { code, stderr } = await called(...line.split(' '));
      expect(code).to.equal(exitCodes.usage);
      expect(stderr).to.include(message);
    });

  it('takes a value that looks like an option where it stands in the same word', async () => {
    const [run] = (await allVerbs()).filter(({ name }) => name === 'run');
    if (!run) throw new Error('There is no verb run');
    expect(parseArguments(run, ['--data=-x', '/a', '--', 'true']).options['data']).to.equal('-x');
    expect(parseArguments(run, ['--data', '-', '/a', '--', 'true']).options['data']).to.equal('-');
  });

  for (const word of ['-1', '1e3', '0x10', '', ' 1', 'Infinity', '1,5'])
    it(`refuses ${JSON.stringify(word)} as a number of seconds`, async () => {
      const [run] = (await allVerbs()).filter(({ name }) => name === 'run');
      if (!run) throw new Error('There is no verb run');
      expect(() => parseArguments(run, [`--wait=${word}`, '/a'])).to.throw(UsageError, '--wait');
    });
});

describe('the completion', () => {
  const cases: [typed: string[], offers: string[]][] = [
    [['zklock', 'ru'], ['run']],
    [['zklock', 'run', '--on'], ['--on-lost']],
    [
      ['zklock', 'completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['zklock', 'run', '/a', '--', 'tru'], ['true']],
    [['zklock', 'run', '-w', '5', '--grace', '3', '/a', '--', 'tru'], ['true']],
    [['zklock', 'help', 'rev'], ['revoke']],
  ];
  const bash = 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _zklock; printf "%s\\n" "${COMPREPLY[@]}"';
  const asks = {
    bash: (file: string, typed: string[]) => execFileSync('bash', ['-c', bash, file, ...typed], { encoding: 'utf8' }),
    fish: (file: string, typed: string[]) =>
      execFileSync('fish', ['-c', 'source $argv[1]; complete -C "$argv[2]"', file, typed.join(' ')], {
        encoding: 'utf8',
      }),
  };
  for (const shell of ['bash', 'fish'] as const) {
    if (shell !== 'bash' && !isCommand(shell)) continue;
    for (const [typed, offers] of cases)
      it(`for ${shell} offers ${offers.join(', ')} after ${typed.join(' ')}`, async () => {
        const { stdout } = await called('completion', shell);
        const lines = withFile(stdout, (file) => asks[shell](file, typed)).split('\n');
        // fish adds a description after a tab.
        expect(lines.map((line) => line.split('\t')[0])).to.include.members(offers);
      });
  }
});

describe('what zklock prints for another program', () => {
  const cases: [words: string[], program: string, options: string[]][] = [
    [['completion', 'bash'], 'bash', ['-n']],
    [['completion', 'zsh'], 'zsh', ['-n']],
    [['completion', 'fish'], 'fish', ['-n']],
    [['man'], 'groff', ['-K', 'utf8', '-T', 'utf8', '-man', '-ww', '-z']],
  ];
  for (const [words, program, options] of cases) {
    // The tests need bash only, and a skipped test would be a failure.
    if (program !== 'bash' && !isCommand(program)) continue;
    it(`is read by ${program} without a complaint, after ${words.join(' ')}`, async () => {
      const { stdout } = await called(...words);
      const { status, stderr } = withFile(stdout, (file) =>
        spawnSync(program, [...options, file], { encoding: 'utf8' }),
      );
      expect({ status, stderr }).to.deep.equal({ status: 0, stderr: '' });
    });
  }
});

function withFile<T>(text: string, use: (file: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'zklock-'));
  try {
    const file = join(folder, 'printed');
    writeFileSync(file, text);
    return use(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs `main` with streams of its own. */
async function called(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough({ encoding: 'utf8' })];
  const io: Io = {
    stdin: new PassThrough(),
    stdout,
    stderr,
    env: {},
    isTerminal: false,
    version: () => '1.2.3',
    onSignal: () => () => undefined,
  };
  const code = await main(words, io);
  const textOf = (stream: PassThrough): string => (stream.read() as string | null) ?? '';
  return { code, stdout: textOf(stdout), stderr: textOf(stderr) };
}

/** Splits as a shell does, for the quotes that the examples use. */
function wordsOf(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '');
}
