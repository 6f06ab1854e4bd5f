// Runs every command of README.md and docs/ from the text itself, against the demo, page by page. `sh` and `python` blocks
// run in the order of the page, in one shell. A block that cannot run here has the reason in a comment before it:
//
//   <!-- not run: needs Slurm -->
//
// A `text` block behind a comment such as `<!-- output: first 24 lines -->` shows the output of the block before it.
//
//   npm run manual:commands                      runs all pages; the exit code is 1 if a command fails
//   npm run manual:commands -- start sql         runs these pages
//   npm run manual:commands -- --write           also writes the outputs into the pages
//
// A temporary folder holds the databases and files that the pages name. Only address and port of the server differ from
// the text.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { serveDemo } from './served-demo.mjs';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const PAGE_MAX_MS = 1_800_000;
/** Proteins of the stand-ins for a reader's own files. */
const OWN_PROTEINS = 120;
const QUERIES = 5;
/** The reader's families, and members of each. */
const FAMILIES = 60;
const MEMBERS = 3;
const BLOCK = /(?:^<!-- (not run): (.+) -->\n)?^```(sh|python)\n([\s\S]*?)^```$/gm;
const OUTPUT = /^<!-- output: first (\d+) lines -->\n```text\n[\s\S]*?^```$/gm;

const named = process.argv.slice(2).filter((word) => !word.startsWith('-'));
const isWriting = process.argv.includes('--write');
const pages = ['README', ...pagesInOrder()].filter((page) => named.length === 0 || named.includes(page));
const served = await serveDemo(root);
const here = join(served.folder, 'here');
mkdirSync(here);
cpSync(join(root, 'examples'), join(here, 'examples'), { recursive: true });
for (const name of ['nodes.dmp', 'names.dmp']) cpSync(join(root, 'examples', name), join(here, name));
writeFiles(here);
const environment = { ...served.environment, PYTHONPATH: join(root, 'src', 'clients', 'python') };
let failures = 0;
try {
  const counts = { run: 0, left: 0 };
  for (const page of pages) {
    const path = page === 'README' ? join(root, 'README.md') : join(root, 'docs', `${page}.md`);
    const text = readFileSync(path, 'utf8');
    const blocks = [...text.matchAll(BLOCK)].map(([, mark, reason, language, code]) => ({
      mark,
      reason,
      language,
      code,
    }));
    const runnable = blocks.filter(({ mark }) => mark !== 'not run');
    const left = blocks.filter(({ mark }) => mark === 'not run');
    const outcome =
      runnable.length === 0 ? { isGood: true, seconds: 0, outputs: [] } : runPage(page, runnable);
    counts.run += runnable.length;
    counts.left += left.length;
    if (!outcome.isGood) failures += 1;
    process.stdout.write(
      `${outcome.isGood ? 'ok    ' : 'FAILED'} ${page}: ${runnable.length} blocks in ${outcome.seconds} s` +
        `${left.map(({ reason }) => `\n         not run: ${reason}`).join('')}\n`,
    );
    if (outcome.isGood && isWriting) writeOutputs(path, text, outcome.outputs);
  }
  process.stdout.write(`${counts.run} blocks were run and ${counts.left} were not.\n`);
} finally {
  await served.stop();
}
process.exitCode = failures > 0 ? 1 : 0;

/** Pages of the index, in its order, which is that of a reader: a later page may use what an earlier one built. */
function pagesInOrder() {
  const index = readFileSync(join(root, 'docs', 'README.md'), 'utf8');
  return [...index.matchAll(/^- \[[^\]]+\]\(([a-z-]+)\.md\)/gm)].map(([, page]) => page);
}

/** Stand-ins for a reader's own files, taken from the proteins of the demo. */
function writeFiles(folder) {
  const records = demoFasta().split(/^(?=>)/m);
  const proteins = records.slice(0, OWN_PROTEINS);
  const ids = proteins
    .map((record) => /^>(?:\w+\|(\w+)\||(\S+))/.exec(record))
    .map(([, accession, word]) => accession ?? word);
  const files = {
    'proteins.fasta': proteins.join(''),
    'newer.fasta': records.slice(5, OWN_PROTEINS + 5).join(''),
    'background.fasta': records.slice(0, 3 * OWN_PROTEINS).join(''),
    'query.fasta': proteins[0],
    'many.fasta': proteins.slice(0, QUERIES).join(''),
    'families.sto': proteins
      .slice(0, FAMILIES)
      .map((record, index) => familyOf(record, ids[index]))
      .join(''),
    'more.tsv': `id\tfreezer:integer\n${ids.map((id, index) => `${id}\t${index}\n`).join('')}`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  for (const name of ['proteins', 'newer', 'background'])
    writeFileSync(join(folder, `${name}.fasta.gz`), gzipSync(files[`${name}.fasta`]));
}

/** A Stockholm family around a protein. Each of its members has other letters in a third of the columns. */
function familyOf(record, id) {
  const own = record.slice(record.indexOf('\n')).replace(/\s/g, '');
  const rows = Array.from({ length: MEMBERS }, (_, member) => {
    const letters = [...own].map((letter, at) =>
      (at * 7 + member) % 3 === 0 ? own[(at * 5 + member) % own.length] : letter,
    );
    return `${id}_${member} ${letters.join('')}\n`;
  });
  return `# STOCKHOLM 1.0\n#=GF ID ${id}\n${rows.join('')}//\n`;
}

function demoFasta() {
  return gunzipSync(readFileSync(join(root, 'examples', 'proteins.fasta.gz'))).toString('utf8');
}

/** Runs the blocks of a page in one shell. Returns their outputs. */
function runPage(page, blocks) {
  const folder = join(served.folder, `outputs-${page}`);
  mkdirSync(folder);
  const script = blocks.map(({ language, code }, index) => {
    const own = code.replaceAll('127.0.0.1:8080', `127.0.0.1:${served.port}`);
    const command = language === 'python' ? `python3 - <<'END_OF_PYTHON'\n${own}END_OF_PYTHON\n` : own;
    return `echo ${index} > ${folder}/at\n{\n${command}} > ${folder}/${index}.txt 2> ${folder}/${index}.err\n`;
  });
  const began = Date.now();
  const { status } = spawnSync('bash', ['-euo', 'pipefail', '-c', script.join('')], {
    env: environment,
    cwd: here,
    timeout: PAGE_MAX_MS,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const seconds = Math.round((Date.now() - began) / 1000);
  const at = Number(textOf(join(folder, 'at')));
  if (status !== 0) {
    const output = ['txt', 'err'].map((end) => textOf(join(folder, `${at}.${end}`))).join('');
    process.stdout.write(`${page}: this block ended with ${status}:\n${blocks[at].code}\n${output}\n`);
  }
  const outputs = blocks.map((_, index) => textOf(join(folder, `${index}.txt`)));
  return { isGood: status === 0, seconds, outputs };
}

/** Text of a file; empty if the shell ended before it wrote the file. */
function textOf(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

/** Writes outputs into the page, behind the blocks that made them. */
function writeOutputs(path, text, outputs) {
  const ends = [...text.matchAll(BLOCK)].filter(([, mark]) => mark !== 'not run');
  const written = text.replace(OUTPUT, (block, lines, place) => {
    const index = ends.filter((match) => match.index < place).length - 1;
    const all = outputs[index].trimEnd().split('\n');
    const shown = all.slice(0, Number(lines));
    if (shown.length < all.length) shown.push('…');
    return `<!-- output: first ${lines} lines -->\n\`\`\`text\n${shown.join('\n')}\n\`\`\``;
  });
  if (written !== text) writeFileSync(path, written);
}
