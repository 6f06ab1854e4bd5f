import { existsSync, readdirSync } from 'node:fs';
import { cpus } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { execFileSync } from 'node:child_process';

/*
 * npm run bench -- <question> [options] [--json]
 *
 * Each question is a folder here, whose file of the same name exports `run`; tools/ is what several share. It checks
 * the answer before it times it, prints its tables as it goes, and returns its figures; with --json they are the last
 * line, as one JSON object.
 */

/** Options are what stands behind the question on the command line, without --json. */
export type Bench = (options: readonly string[]) => Promise<Readonly<Record<string, unknown>>>;

const folder = dirname(fileURLToPath(import.meta.url));
const questions = readdirSync(folder).filter((name) => existsSync(join(folder, name, `${name}.js`)));

const [question, ...rest] = process.argv.slice(2);
if (question === undefined || !questions.includes(question)) {
  process.stderr.write(`Usage: npm run bench -- <question> [--json]\nQuestions: ${questions.join(', ')}\n`);
  process.exitCode = 2;
} else {
  const { run } = (await import(`./${question}/${question}.js`)) as { run: Bench };
  process.stdout.write(
    `${question} on ${cpus()[0].model}, ${cpus().length} cores, Node ${process.version}, ${commit()}\n`,
  );
  const figures = await run(rest.filter((option) => option !== '--json'));
  if (rest.includes('--json')) process.stdout.write(`${JSON.stringify(figures)}\n`);
}

function commit(): string {
  try {
    return `commit ${execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: folder, encoding: 'utf8' }).trim()}`;
  } catch {
    return 'no commit';
  }
}
