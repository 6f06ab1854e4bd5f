import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance, type Appliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { DEMO_SLUG, examplesFolder } from '../../src/demo/demo.js';
import { EXAMPLES, EXAMPLE_LARGEST_E, FINDS_COLUMNS } from '../../src/demo/example.js';
import { assert } from '../../src/errors.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { eValueOf } from '../../src/search/pairs/candidate-significance.js';
import { searchMany } from '../../src/search/search.js';
import type { SearchEngine } from '../../src/search/search-types.js';
import type { Bench } from '../main.js';
import type { BenchProtein } from '../tools/proteins.js';
import { FAMILIES, familyOf } from './families.js';
import { PROGRAMS, searchBy, versionOf, type EValues } from './programs.js';
import { selectDemo, writeDemo } from './select.js';
import { comparison, type FamilyTotals, type Row } from './table.js';

/*
 * What does a search find that other programs miss? The bench searches the demo with its example queries by this
 * program, BLASTP, PSI-BLAST and MMseqs2, on the same 2,000 sequences. It also counts what the programs without rounds
 * find by all queries of the remote families.
 *
 *   npm run bench -- example               compares; writes examples/finds.md and a table for each example query
 *   npm run bench -- example select        selects the proteins from the shared data; writes examples/proteins.fasta.gz
 *
 * The first needs the database `demo` in the configured indexes folder, calibrated.
 */

/** E-value up to which programs list hits, as BLASTP does by default. */
const LISTED_E = 10;
/** Listed targets of a query, by distance. */
const LIMIT = 1_000;
/** Queries that are searched at once. */
const PACK = 50;

interface DemoProtein extends BenchProtein {
  readonly name: string;
  readonly organism: string;
  readonly family: string | undefined;
}

type ByQuery = ReadonlyMap<string, EValues>;

export const run: Bench = async ([action]) => {
  const { packageFolder } = loadConfig(process.env);
  if (action === 'select') return select(packageFolder);
  const appliance = await openAppliance(loadConfig(process.env));
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-example-'));
  try {
    return await compare(appliance, folder);
  } finally {
    await appliance.close();
    await rm(folder, { recursive: true });
  }
};

async function select(packageFolder: string): Promise<Readonly<Record<string, unknown>>> {
  const data = join(process.env.GLOAMING_SHARED ?? join(packageFolder, '..', 'shared'), 'data');
  const selected = await selectDemo(data);
  await writeDemo(selected, examplesFolder(packageFolder));
  const residues = selected.proteins.reduce((sum, { sequence }) => sum + sequence.length, 0);
  const named = selected.proteins.filter(({ family }) => family !== undefined).length;
  console.log(
    `${selected.proteins.length} proteins, ${residues} residues; ${named} are named after a family`,
  );
  return { proteins: selected.proteins.length, residues, named };
}

async function compare(appliance: Appliance, folder: string): Promise<Readonly<Record<string, unknown>>> {
  const { config, engines, releases } = appliance;
  const database = releases.database(DEMO_SLUG);
  assert(database !== undefined, 'the indexes folder has the database demo');
  const engine = await engines.open(database.defaultReleaseId);
  assert(engine.calibration !== undefined, 'the demo is calibrated');
  const proteins = proteinsOf(engine);
  const named = proteins.filter(({ family }) => family !== undefined);
  const ours = await searchHere(named, engine);
  const theirs: ByQuery[] = [];
  for (const program of PROGRAMS) {
    const queries = program.hasRounds
      ? named.filter(({ id }) => EXAMPLES.some((each) => each.id === id))
      : named;
    theirs.push(await searchBy(program, queries, proteins, folder, LISTED_E));
  }
  const byProgram = [ours, ...theirs];
  const examples = EXAMPLES.map((example) => ({ ...example, rows: rowsOf(example.id, proteins, byProgram) }));
  const families = FAMILIES.map(({ name }) => totalsOf(name, proteins, byProgram));
  const versions = await Promise.all(PROGRAMS.map(versionOf));
  const text = comparison({ examples, families, versions, serverVersion: appliance.serverVersion });
  const destination = examplesFolder(config.packageFolder);
  for (const { name, rows } of examples) await writeFile(join(destination, `${name}.tsv`), tsvOf(rows));
  await writeFile(join(destination, 'finds.md'), text);
  console.log(text);
  return Object.fromEntries(
    examples.map(({ name, rows }) => [
      name,
      Object.fromEntries(
        FINDS_COLUMNS.map((column, at) => [column, rows.filter(({ eValues }) => isFind(eValues[at])).length]),
      ),
    ]),
  );
}

function proteinsOf({ release: { targets } }: SearchEngine): readonly DemoProtein[] {
  return Array.from({ length: targets.count }, (_, target) => {
    const text = (field: string): string => String(targets.attribute(target, field) ?? '');
    const name = text('name');
    const [id, sequence] = [targets.id(target), targets.sequence(target)];
    return { id, sequence, name, organism: text('organism'), family: familyOf(name)?.name };
  });
}

async function searchHere(queries: readonly DemoProtein[], engine: SearchEngine): Promise<ByQuery> {
  const { release } = engine;
  const settings = {
    targetSpace: unfilteredSpace(release),
    limit: LIMIT,
    evidence: 'candidate_measurement',
    significance: 'if_available',
    guarantee: 'exhaustive',
  } as const;
  const byQuery = new Map<string, EValues>();
  for (let start = 0; start < queries.length; start += PACK) {
    const pack = queries.slice(start, start + PACK);
    const batch = pack.map(({ sequence }) => ({ sequence, normalizationId: 'bench' }));
    const results = await searchMany(batch, settings, engine);
    results.forEach(({ candidates }, query) => {
      const eValues = new Map<string, number>();
      for (const candidate of candidates) {
        const e = eValueOf(candidate);
        if (e !== undefined && e <= LISTED_E) eValues.set(release.targets.id(candidate.targetIndex), e);
      }
      byQuery.set(pack[query].id, eValues);
    });
  }
  return byQuery;
}

function isFind(e: number | undefined): boolean {
  return e !== undefined && e <= EXAMPLE_LARGEST_E;
}

/** Returns all proteins that a program finds by a query, in the order of our E-values. */
function rowsOf(
  queryId: string,
  proteins: readonly DemoProtein[],
  byProgram: readonly ByQuery[],
): readonly Row[] {
  const listed = byProgram.map((program) => program.get(queryId));
  const rows = proteins.map((protein): Row => {
    return { ...protein, eValues: listed.map((eValues) => eValues?.get(protein.id)) };
  });
  return rows
    .filter(({ id, eValues }) => id !== queryId && eValues.some(isFind))
    .sort((a, b) => (a.eValues[0] ?? Infinity) - (b.eValues[0] ?? Infinity));
}

/** Counts what the programs without rounds find by all members of a family. */
function totalsOf(
  family: string,
  proteins: readonly DemoProtein[],
  byProgram: readonly ByQuery[],
): FamilyTotals {
  const familyById = new Map(proteins.map((protein) => [protein.id, protein.family]));
  const queries = proteins.filter((protein) => protein.family === family);
  const counts = byProgram
    .filter((_, at) => at === 0 || !PROGRAMS[at - 1].hasRounds)
    .map((program) => {
      let [same, different] = [0, 0];
      for (const { id } of queries) {
        for (const [target, e] of program.get(id) ?? []) {
          if (target === id || !isFind(e) || familyById.get(target) === undefined) continue;
          if (familyById.get(target) === family) same += 1;
          else different += 1;
        }
      }
      return { same, different };
    });
  return { family, queryCount: queries.length, counts };
}

function tsvOf(rows: readonly Row[]): string {
  const header = ['protein', ...FINDS_COLUMNS, 'family', 'organism', 'name'];
  const lines = rows.map(({ id, eValues, family = '', organism, name }) =>
    [id, ...eValues.map((e) => (e === undefined ? '' : e.toExponential(1))), family, organism, name].join(
      '\t',
    ),
  );
  return `# Written by npm run bench -- example\n${[header.join('\t'), ...lines].join('\n')}\n`;
}
