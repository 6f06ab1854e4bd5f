import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execFileSync } from 'node:child_process';

/*
 * npm run bench -- <question> [options] [--json]
 * npm run bench -- <question> --help
 *
 * Each question is a folder here, whose file of the same name exports `run`; tools/ is shared code. A bench checks the
 * answer before it times it, prints its tables as it goes, and returns its figures. With --json the last line is one
 * JSON object: the figures with their command, machine, date and commit, as `figures add` records them.
 */

/** Options are what stands behind the question on the command line, without --json. */
export type Bench = (options: readonly string[]) => Promise<Readonly<Record<string, unknown>>>;

/** The line that a bench ends with under --json. */
export interface BenchOutput {
  readonly question: string;
  readonly command: string;
  readonly machine: string;
  readonly date: string;
  readonly commit: string;
  readonly figures: Readonly<Record<string, unknown>>;
}

const folder = dirname(fileURLToPath(import.meta.url));
const questions = readdirSync(folder).filter((name) => existsSync(join(folder, name, `${name}.js`)));

const [question, ...rest] = process.argv.slice(2);
if (question === undefined || !questions.includes(question)) {
  process.stderr.write(`Usage: npm run bench -- <question> [--json]\nQuestions: ${questions.join(', ')}\n`);
  process.exitCode = 2;
} else if (rest.includes('--help')) {
  process.stdout.write(`${usageOf(question)}\n`);
} else {
  const { run } = (await import(`./${question}/${question}.js`)) as { run: Bench };
  const options = rest.filter((option) => option !== '--json');
  const command = ['npm run bench --', question, ...options].join(' ');
  const machine = `${cpus()[0].model}, ${cpus().length} cores, Node ${process.version}`;
  const date = new Date().toISOString().slice(0, 'yyyy-mm-dd'.length);
  process.stdout.write(`${question} on ${machine}, ${commit()}\n`);
  const figures = await run(options);
  const output: BenchOutput = { question, command, machine, date, commit: commit(), figures };
  if (rest.includes('--json')) process.stdout.write(`${JSON.stringify(output)}\n`);
}

/** Returns the comment at the head of a bench, which says what it measures and with which options. */
function usageOf(name: string): string {
  const source = join(folder, '..', '..', 'bench', name, `${name}.ts`);
  const [, comment] = /\/\*\*?\n([^]*?)\n? \*\//.exec(readFileSync(source, 'utf8')) ?? [];
  return (comment ?? 'It takes no options.').replaceAll(/^ \* ?/gm, '');
}

function commit(): string {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim();
  } catch {
    return 'no commit';
  }
}
