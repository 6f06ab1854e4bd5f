import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { assert } from '../../src/errors.js';
import type { Bench } from '../main.js';
import { plotsOf } from '../figures/plots.js';
import type { FigureTable } from '../figures/tables.js';
import { isOnPath } from '../tools/homology-peers.js';
import { median } from '../tools/statistics.js';
import { spaced } from '../tools/proteins.js';
import { recallOf, readAnswer, type Answer, type Recall } from './answers.js';
import { measured } from './commands.js';
import { openGrowth, type GrowthDatabase, type GrowthFolder } from './databases.js';
import { exhaustive, METHODS, STAGED, type Method } from './methods.js';
import { STAGES, stagesOf, type StageTimes } from './stages.js';

/*
 * How do the costs of a search grow with the database? The same queries are searched in nested databases of real
 * proteins, by our policies and by the classical programs, each as a command on all cores.
 *
 *   npm run bench -- growth <folder> [proteins, 27915,100000,400000] [queries, 200] [truth queries, 30] [repeats, 3]
 *                            [parts of methods' names, with commas between]
 *
 * Databases are built once and kept in the folder. `n28.fasta`, `n100.fasta` and `queries.fasta` there are used if they
 * exist. A database is the first proteins of one list: the UniProt sample, then natural proteins in a seeded order.
 *
 * `marginal` is the time of all queries less that of a twentieth of them, for each query between. `start` is what is
 * left of the time of the few. Times are processor time of the command and its children, the median of the repeats.
 * Memory is the largest sum of resident memory of these processes, mapped files included, sampled ten times a second.
 *
 * Recall is against the exhaustive search with 10,000 candidates, for a few of the queries, as the mean over queries.
 * It is that of the pairs with E ≤ 0.001, of the ten smallest E-values, and of those of the ten with E ≤ 1. A program's
 * list is what its command writes.
 *
 * The time of a coded query is divided among the stages of the search, in this process and with one thread.
 * `growth.json` in the folder has the rows, the stages, and a table of each for the manual; `growth.svg` is the plot.
 * `figures add growth <output> tables` records the tables.
 */

interface Row {
  readonly method: string;
  readonly proteins: number;
  readonly residues: number;
  readonly start_s: number;
  readonly marginal_ms: number;
  readonly memory_mib: number;
  /** Undefined without E-values. */
  readonly recall: Recall | undefined;
}

/** Milliseconds of processor time a coded query, by stage. */
interface StageRow {
  readonly proteins: number;
  readonly times: StageTimes;
}

interface Work {
  readonly folder: GrowthFolder;
  readonly database: GrowthDatabase;
  readonly repeats: number;
  readonly truth: readonly Answer[];
  readonly truthIds: readonly string[];
}

const FEW_SHARE = 20;
const MIB = 1024 ** 2;

export const run: Bench = async ([path, counts = '27915,100000,400000', ...rest]) => {
  assert(path !== undefined, 'npm run bench -- growth <folder> needs a folder for its databases');
  const [queryCount = 200, truthCount = 30, repeats = 3] = rest.slice(0, 3).map(Number);
  const parts = (rest[3] ?? '').split(',');
  const methods = METHODS.filter(({ name }) => parts.some((part) => name.includes(part)));
  const folder = await openGrowth(resolve(path), counts.split(',').map(Number), queryCount);
  const rows: Row[] = [];
  const staged: StageRow[] = [];
  for (const count of counts.split(',').map(Number)) {
    const database = await folder.database(count);
    if (database === undefined) {
      console.log(`${count} proteins: skipped, the shared data has fewer`);
      continue;
    }
    const truthQueries = spaced(folder.queries, truthCount);
    const truthFile = await folder.queryFile('truth', truthQueries);
    const truthIds = truthQueries.map(({ id }) => id);
    const output = join(folder.path, 'found.tsv');
    await measured(exhaustive.search(folder, database, truthFile, output), folder.path);
    const truth = await readAnswer(output, truthIds);
    const work = { folder, database, repeats, truth, truthIds };
    for (const method of methods) {
      const row = await rowOf(method, work);
      if (row === undefined) continue;
      rows.push(row);
      console.log(inWords(row));
      if (method !== STAGED) continue;
      const times = await stagesOf(folder.path, database.slug, folder.queries);
      staged.push({ proteins: database.proteins, times });
      console.log(stagesInWords(times));
    }
  }
  const tables = [tableOf(rows), ...(staged.length > 0 ? [stageTableOf(staged)] : [])];
  const stages = staged.map(({ proteins, times }) => ({ proteins, ...Object.fromEntries(times) }));
  await writeFile(join(folder.path, 'growth.json'), `${JSON.stringify({ rows, stages, tables }, null, 2)}\n`);
  for (const [name, svg] of plotsOf(tables)) await writeFile(join(folder.path, name), svg);
  console.log(`The rows, their tables and the plot are in ${folder.path}.`);
  const rowFigures = rows.map(({ method, proteins, recall, ...row }) => [
    `${method}, ${proteins}`,
    { ...row, ...recall },
  ]);
  const stageFigures = stages.map(({ proteins, ...times }) => [`ms by stage, ${proteins}`, times]);
  return { ...Object.fromEntries([...rowFigures, ...stageFigures]), tables };
};

/** Undefined if the program is not installed. */
async function rowOf(method: Method, work: Work): Promise<Row | undefined> {
  const { folder, database, repeats, truth, truthIds } = work;
  if (method.program !== undefined && !(await isOnPath(method.program))) {
    console.log(`${method.name}: skipped, ${method.program} is not installed`);
    return undefined;
  }
  await method.prepare(folder, database);
  // An exhaustive program takes seconds a query: it gets the queries of the truth.
  const all = method.isSlow ? folder.queries.filter(({ id }) => truthIds.includes(id)) : folder.queries;
  const few = spaced(all, Math.max(1, Math.round(all.length / FEW_SHARE)));
  const files = [await folder.queryFile('few', few), await folder.queryFile('all', all)];
  const output = join(folder.path, 'found.tsv');
  const [fewSeconds, allSeconds, memory]: [number[], number[], number[]] = [[], [], []];
  // The first run brings the database into memory and is not counted.
  await measured(method.search(folder, database, files[0], output), folder.path);
  for (let round = 0; round < repeats; round += 1) {
    fewSeconds.push((await measured(method.search(folder, database, files[0], output), folder.path)).seconds);
    const whole = await measured(method.search(folder, database, files[1], output), folder.path);
    allSeconds.push(whole.seconds);
    memory.push(whole.peakBytes);
  }
  const answer = method.hasEValues ? await readAnswer(output, truthIds) : undefined;
  const found = answer?.flatMap((one) => one.found) ?? [];
  assert(answer === undefined || found.length > 0, `${method.name} finds something`);
  for (const { target } of found) assert(database.ids.has(target), `${method.name} names targets by our ids`);
  const marginal = (median(allSeconds) - median(fewSeconds)) / (all.length - few.length);
  return {
    method: method.name,
    proteins: database.proteins,
    residues: database.residues,
    start_s: median(fewSeconds) - few.length * marginal,
    marginal_ms: 1_000 * marginal,
    memory_mib: median(memory) / MIB,
    recall: answer && recallOf(truth, answer),
  };
}

function inWords({ method, proteins, start_s, marginal_ms, memory_mib, recall }: Row): string {
  return (
    `${String(proteins).padStart(7)} ${method.padEnd(20)} start ${start_s.toFixed(1)} s, ` +
    `${marginal_ms.toFixed(1)} ms a query, ${memory_mib.toFixed(0)} MiB` +
    (recall === undefined
      ? ''
      : `; recall of ${recall.evident_count} pairs with E ≤ 0.001 ${recall.evident.toFixed(3)}, ` +
        `of the ten best ${recall.ten_best.toFixed(3)}, of those with E ≤ 1 ${recall.ten_best_likely.toFixed(3)}`)
  );
}

function stagesInWords(times: StageTimes): string {
  const sum = [...times.values()].reduce((all, time) => all + time, 0);
  const shares = [...times].map(
    ([stage, time]) => `${stage} ${time.toFixed(1)} ms (${((100 * time) / sum).toFixed(0)} %)`,
  );
  return `        by stage, ${sum.toFixed(1)} ms a query: ${shares.join(', ')}`;
}

function stageTableOf(staged: readonly StageRow[]): FigureTable {
  return {
    ...ORIGIN,
    id: 'growth-stages',
    title: 'Milliseconds of processor time a coded query with E-values, by stage',
    columns: ['stage', ...staged.map(({ proteins }) => `${proteins.toLocaleString('en')} proteins`)],
    rows: STAGES.map((stage) => [stage, ...staged.map(({ times }) => (times.get(stage) ?? 0).toFixed(1))]),
  };
}

/** Origins are filled in where a table is recorded. */
const ORIGIN = {
  question: 'growth',
  command: 'npm run bench -- growth',
  machine: '',
  date: '',
  commit: '',
  source: 'program',
} as const;

/** The table of the manual. */
function tableOf(rows: readonly Row[]): FigureTable {
  return {
    ...ORIGIN,
    id: 'growth',
    title: 'Costs and recall of a search, by size of the database',
    columns: [
      'method, proteins',
      'ms a query',
      'start',
      'memory, MiB',
      'E ≤ 0.001',
      'ten best',
      'those with E ≤ 1',
    ],
    rows: rows.map(({ method, proteins, start_s, marginal_ms, memory_mib, recall }) => [
      `${method}, ${proteins.toLocaleString('en')}`,
      marginal_ms.toFixed(1),
      `${start_s.toFixed(1)} s`,
      memory_mib.toFixed(0),
      shareOf(recall?.evident),
      shareOf(recall?.ten_best),
      shareOf(recall?.ten_best_likely),
    ]),
    plot: {
      kind: 'bars',
      file: 'growth.svg',
      value: 1,
      axis: 'milliseconds of processor time a query (logarithmic)',
      scale: 'log',
    },
  };
}

/** Empty where nothing was measured. */
function shareOf(share: number | undefined): string {
  return share?.toFixed(3).replace(/^0/, '') ?? '';
}
