import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { afterAll, describe, expect, it, test } from 'vitest';
import { completedCommands } from '#src/cli/program/completion.js';
import { openProgram } from '#src/cli/program/program.js';
import { SHELLS } from '#src/cli/program/shells.js';
import { COMMANDS, type CommandEntry } from '#src/cli/program/table.js';
import { PROGRAM } from '../tools/paths.js';

const folder = mkdtempSync(join(tmpdir(), 'gloaming-program-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function gloaming(...words: string[]): Promise<Ended> {
  try {
    return { code: 0, ...(await promisify(execFile)(process.execPath, [PROGRAM, ...words])) };
  } catch (error) {
    return error as Ended;
  }
}

const context = {
  environment: {},
  stdin: new PassThrough(),
  stdout: new PassThrough(),
  stderr: new PassThrough(),
};

test('the compiled program runs by its own name, as npm links it', () => {
  expect(execFileSync(PROGRAM, ['--version'], { encoding: 'utf8' }).trim()).toMatch(/^\d+\.\d+\.\d+/);
});

test.each(['stdout', 'stderr'] as const)(
  'a command whose %s is closed by its reader ends without a stack trace',
  async (closed) => {
    const child = spawn(process.execPath, [PROGRAM, closed === 'stdout' ? 'doctor' : 'no-such-command'], {
      env: {
        ...process.env,
        GLOAMING_INDEXES: join(folder, 'indexes'),
        GLOAMING_DATA: join(folder, 'data'),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = once(child, 'exit');
    child[closed].destroy();
    const open = closed === 'stdout' ? child.stderr : child.stdout;
    const [said, [code]] = await Promise.all([text(open), ended]);
    expect([said, code]).toEqual(['', closed === 'stdout' ? 0 : 1]);
  },
);

describe('the modules that a command line loads', () => {
  /** Loaded files of the program and of packages. Packages have one entry. */
  const loadedBy = async (...words: string[]): Promise<string[]> => {
    const hooks = join(folder, 'hooks.mjs');
    const names = join(folder, 'names.mjs');
    writeFileSync(
      hooks,
      'import { appendFileSync } from "node:fs";\n' +
        'export async function load(url, context, next) {\n' +
        '  appendFileSync(process.env.LOADED, url + "\\n");\n  return next(url, context);\n}\n',
    );
    writeFileSync(
      names,
      `import { register } from 'node:module';\nregister(${JSON.stringify(pathToFileURL(hooks).href)});\n`,
    );
    const loaded = join(folder, 'loaded');
    writeFileSync(loaded, '');
    await promisify(execFile)(process.execPath, ['--import', names, PROGRAM, ...words], {
      env: { ...process.env, LOADED: loaded },
    });
    const files = readFileSync(loaded, 'utf8').trim().split('\n');
    return [
      ...new Set(
        files
          .filter((url) => url.startsWith('file:'))
          .map((url) => /node_modules\/([^/]+)/.exec(url)?.[1] ?? url.replace(/^.*\/dist\//, '')),
      ),
    ].toSorted();
  };
  const OF_THE_PROGRAM = [
    'commander',
    'fastest-levenshtein',
    'src/cli/main.js',
    'src/cli/program/errors.js',
    'src/cli/program/foreign-commands.js',
    'src/cli/program/options.js',
    'src/cli/program/program.js',
    'src/cli/program/table.js',
    'src/cli/terminal/printed.js',
    // The errors of the client, which the program reports, too.
    'src/clients/typescript/client.js',
    'src/clients/typescript/events.js',
    'src/clients/typescript/failure.js',
    'src/clients/typescript/transport.js',
    'src/clients/typescript/types/operations.js',
    'src/errors.js',
    'src/places.js',
    'src/printable.js',
  ];

  it.each([[['--version']], [['--help']], [['index', '--help']], [['runs']]])(
    'of %j are those of the command table only',
    async (words) => {
      expect(await loadedBy(...words)).toEqual(OF_THE_PROGRAM);
    },
  );

  it('for the help of a search load options only: no store, kernels or encoder', async () => {
    const loaded = await loadedBy('search', '--help');
    expect(loaded.filter((name) => !name.startsWith('src/'))).toEqual(['commander', 'fastest-levenshtein']);
    expect(
      loaded.filter((name) => /^src\/(store|kernels|encoder|release|contract|http)\//.test(name)),
    ).toEqual([]);
  });
});

describe('the command table', () => {
  const pathsOf = (entries: readonly CommandEntry[], parent = ''): string[] =>
    entries.flatMap(({ name, commands = [] }) => [
      `${parent}${name}`,
      ...pathsOf(commands, `${parent}${name} `),
    ]);
  const registered = (command: Command, parent = ''): string[] =>
    command.commands.flatMap((each) => [
      `${parent}${each.name()}`,
      ...registered(each, `${parent}${each.name()} `),
    ]);

  it('lists every command that the modules add, each with one line of help', async () => {
    const program = await openProgram(undefined, context);
    expect(registered(program).toSorted()).toEqual(pathsOf(COMMANDS).toSorted());
    for (const { path, commands } of completedCommands(program))
      for (const { name, summary } of commands) {
        expect(summary, `${path} ${name}`).not.toBe('');
        expect(summary.length, `${path} ${name}`).toBeLessThanOrEqual(80);
      }
  });

  it('lists commands in groups, and explains which of the three search commands to use', async () => {
    const { stdout } = await gloaming('--help');
    for (const heading of ['Search:', 'Databases:', 'Server:', 'Upkeep:'])
      expect(stdout).toContain(`\n${heading}\n`);
    for (const words of [['--help'], ['batch'], ['runs']])
      expect((await gloaming(...words)).stdout).toMatch(
        /Three commands search:[^]*batch search[^]*runs submit/,
      );
  });

  it.each([[[]], [['index']], [['batch']], [['runs']], [['keys']], [['help']], [['help', 'index']]])(
    'prints its help for the bare group %j with exit code 0',
    async (words) => {
      const { code, stdout, stderr } = await gloaming(...words);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toMatch(/^Usage: gloaming/);
    },
  );

  it.each([
    [['calibration', 'show', '--help'], 'Usage: gloaming index calibration '],
    [['background', 'add', '--help'], 'Usage: gloaming homolog-source add '],
    [['background'], 'Usage: gloaming homolog-source '],
  ])('keeps the former name %j, which no help lists', async (words, usage) => {
    expect((await gloaming(...words)).stdout).toContain(usage);
    expect((await gloaming('--help')).stdout).not.toMatch(new RegExp(`^ +${words[0]}`, 'm'));
  });

  it('has calibrate and calibration beside each other', async () => {
    const { stdout } = await gloaming('index');
    expect(stdout).toMatch(/E-values and speed:\n +calibrate .*\n(?: {3,}.*\n)* +calibration /);
  });
});

describe('an unknown option', () => {
  it.each([
    [['search', 'x', '--evalu', '1'], 'Did you mean --max-evalue?'],
    [['search', 'x', '--guarante', 'exhaustive'], 'Did you mean --guarantee?'],
    [['index', 'build', 'x', '--nmae', 'y'], 'Did you mean --name?'],
    [['search', 'x', '--evalue', '1'], 'BLAST and DIAMOND. Here it is --max-evalue (-e)'],
    [['search', 'x', '-evalue', '1'], 'BLAST and DIAMOND. Here it is --max-evalue (-e)'],
    [['search', 'x', '-outfmt', '6'], "Here it is --outfmt '6"],
    [['search', 'x', '-max_target_seqs', '5'], 'Here it is --limit (-l)'],
    [['search', 'x', '--max-target-seqs', '5'], 'Here it is --limit (-l)'],
    [['search', 'x', '--max-seqs', '5'], 'MMseqs2. Here it is --limit (-l)'],
    [['search', 'x', '-num_threads', '5'], 'Here it is --threads'],
    [['search', 'x', '-s', '7.5'], 'MMseqs2. Here it is not needed: no sensitivity'],
    [['search', 'x', '-c', '0.8'], '--min-query-coverage or --min-target-coverage'],
    [['batch', 'search', 'x', '-d', 'd', '-o', 'o', '--max-target-seqs', '5'], 'Here it is --limit (-l)'],
    [['serch', 'x'], 'Did you mean search?'],
    [['index', 'biuld'], 'Did you mean build?'],
    [['blastp', '-query', 'x', '-db', 'y'], 'blastp is a command of BLAST. Here it is "gloaming search".'],
    [['makeblastdb', '-in', 'x'], 'BLAST. Here it is "gloaming index build".'],
    [['easy-search', 'x', 'y', 'z', 'tmp'], 'MMseqs2. Here it is "gloaming search".'],
    [['hmmscan', 'x'], 'HMMER. Here it is "gloaming annotate".'],
    [['index', 'delete', 'x', '-y'], 'Did you mean "gloaming index remove"?'],
  ])('of %j names the one that was meant', async (words, meant) => {
    const { code, stderr } = await gloaming(...words);
    expect(code).toBe(1);
    expect(stderr).toContain(meant);
  });

  it('that resembles nothing has no suggestion', async () => {
    expect((await gloaming('search', 'x', '--xyzzy')).stderr).not.toMatch(/Did you mean|option of/);
  });
});

describe('completion', () => {
  const scriptOf = async (shell: keyof typeof SHELLS): Promise<string> =>
    (await gloaming('completion', shell)).stdout;

  it('in bash offers commands, options and the values of options', async () => {
    const script = join(folder, 'completion.bash');
    writeFileSync(script, await scriptOf('bash'));
    const completed = (...words: string[]): string[] =>
      execFileSync('bash', [
        '-c',
        `source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _gloaming; printf '%s\n' "\${COMPREPLY[@]}"`,
        script,
        'gloaming',
        ...words,
      ])
        .toString()
        .trim()
        .split('\n');
    expect(completed('se')).toEqual(['search', 'serve']);
    expect(completed('index', 'ca')).toEqual(['calibrate', 'calibration']);
    expect(completed('index', 'build', 'x.fasta', '--na')).toEqual(['--name']);
    expect(completed('search', '--format', '')).toContain('a3m');
    expect(completed('search', 'x', '--guarantee', 'e')).toEqual(['exhaustive']);
    expect(completed('completion', '')).toEqual(['bash', 'zsh', 'fish']);
    // Files complete these: the words are empty.
    expect(completed('search', '-o', '')).toEqual(['']);
    expect(completed('search', '')).toEqual(['']);
    // Former names are not offered.
    expect(completed('search', '--rel')).toEqual(['']);
    expect(completed('calibration', '')).not.toContain('show');
  });

  it('in zsh and fish names every command and every option', async () => {
    const program = await openProgram(undefined, context);
    const [zsh, fish] = [await scriptOf('zsh'), await scriptOf('fish')];
    for (const { path, options } of completedCommands(program)) {
      expect(zsh).toContain(`    '${path}') names=(`);
      for (const { names } of options) {
        for (const name of names) expect(zsh).toContain(`'${name}:`);
        const long = names.find((name) => name.startsWith('--'));
        if (long !== undefined) expect(fish).toContain(` -l ${long.slice(2)}`);
      }
    }
    expect(fish).toContain("complete -c gloaming -n '__gloaming_at index' -f -a build");
    expect(fish).not.toContain('relatives');
  });
});
