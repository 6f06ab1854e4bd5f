import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openAppliance, type Appliance } from '../../src/appliance.js';
import { loadConfig } from '../../src/config.js';
import { DEMO_SLUG, examplesFolder } from '../../src/demo/demo.js';
import { EXAMPLE_ID, EXAMPLE_LARGEST_E, FINDS_COLUMNS, FINDS_FILE } from '../../src/demo/example.js';
import { assert } from '../../src/errors.js';
import type { Release } from '../../src/release/release.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { eValueOf } from '../../src/search/candidate-significance.js';
import { searchMany } from '../../src/search/search.js';
import type { Bench } from '../main.js';
import type { BenchProtein } from '../tools/proteins.js';
import { copyCalibration } from './calibration.js';
import { familyOf } from './families.js';
import { PROGRAMS, searchAll, versionOf, type EValues } from './programs.js';
import { selectDemo, writeDemo } from './select.js';
import { comparison, type Row, type Summary } from './table.js';

/*
 * What does a search find that other programs miss? The bench searches the demo with its example query, and with other
 * proteins of remote families, by this program, BLASTP, PSI-BLAST and MMseqs2, on the same 2,000 sequences.
 *
 *   npm run bench -- example               compares; writes examples/thioredoxin.{tsv,md}
 *   npm run bench -- example select        selects the proteins from the shared data; writes examples/proteins.fasta.gz
 *   npm run bench -- example calibration   copies the calibration of the demo; writes examples/demo.calibration
 *
 * The first and the last need the database `demo` in the configured indexes folder, calibrated.
 */

/** Queries of the summary, by UniProt accession. */
const QUERIES: readonly string[] = [
  EXAMPLE_ID,
  // Actin and HSP70 of yeast, flavohemoprotein of E. coli, ubiquitin-like SMT3 of yeast, ThiS, Hfq, FtsZ and RecA of
  // E. coli, adenylate kinase of E. coli, histone H3 of yeast.
  'P60010',
  'P10591',
  'P24232',
  'Q12306',
  'O32583',
  'P0A6X3',
  'P0A9A6',
  'P0A7G6',
  'P69441',
  'P61830',
];
/** E-value up to which programs list hits, as BLASTP does by default. */
const LISTED_E = 10;
const LIMIT = 2_000;

export const run: Bench = async ([action]) => {
  const { packageFolder } = loadConfig(process.env);
  if (action === 'select') return select(packageFolder);
  const appliance = await openAppliance(loadConfig(process.env));
  const folder = await mkdtemp(join(tmpdir(), 'gloaming-bench-example-'));
  try {
    if (action === 'calibration') return await copyCalibration(appliance);
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
  const { release } = engine;
  const proteins = Array.from({ length: release.targets.count }, (_, target): BenchProtein => ({
    id: release.targets.id(target),
    sequence: release.targets.sequence(target),
  }));
  const queries = QUERIES.flatMap((id) => proteins.filter((protein) => protein.id === id));
  assert(queries[0].id === EXAMPLE_ID, 'the demo has the example query');
  const results = await searchMany(
    queries.map(({ sequence }) => ({ sequence, normalizationId: 'bench' })),
    {
      targetSpace: unfilteredSpace(release),
      limit: LIMIT,
      evidence: 'candidate_measurement',
      significance: 'if_available',
      guarantee: 'exhaustive',
    },
    engine,
  );
  const ours = new Map<string, EValues>();
  results.forEach(({ candidates }, query) => {
    const listed = candidates.flatMap((candidate) => {
      const e = eValueOf(candidate);
      return e === undefined || e > LISTED_E ? [] : [[release.targets.id(candidate.targetIndex), e] as const];
    });
    ours.set(queries[query].id, new Map(listed));
  });
  const byProgram = [ours, ...(await searchAll(PROGRAMS, queries, proteins, folder, LISTED_E))];
  const rows = rowsOf(release, byProgram);
  const summaries = queries.map(({ id }) => summaryOf(id, release, byProgram));
  const versions = await Promise.all(PROGRAMS.map(versionOf));
  const text = comparison({ rows, summaries, versions, serverVersion: appliance.serverVersion });
  const examples = examplesFolder(config.packageFolder);
  await writeFile(join(examples, FINDS_FILE), tsvOf(rows));
  await writeFile(join(examples, 'thioredoxin.md'), text);
  console.log(await readFile(join(examples, 'thioredoxin.md'), 'utf8'));
  return Object.fromEntries(
    FINDS_COLUMNS.map((name, column) => [
      name,
      rows.filter(({ eValues }) => (eValues[column] ?? Infinity) <= EXAMPLE_LARGEST_E).length,
    ]),
  );
}

/** Returns all proteins that a program finds by the example query, in the order of our E-values. */
function rowsOf(release: Release, byProgram: readonly ReadonlyMap<string, EValues>[]): readonly Row[] {
  const listed = byProgram.map((program) => program.get(EXAMPLE_ID) ?? new Map<string, number>());
  const found = new Set(
    listed.flatMap((eValues) => [...eValues].filter(([, e]) => e <= EXAMPLE_LARGEST_E).map(([id]) => id)),
  );
  found.delete(EXAMPLE_ID);
  const rows = [...found].map((id): Row => {
    const target = release.targets.find(id);
    assert(target !== undefined, 'a find is a protein of the demo');
    const text = (field: string): string => String(release.targets.attribute(target, field) ?? '');
    const name = text('name');
    return {
      id,
      name,
      organism: text('organism'),
      family: familyOf(name)?.name,
      eValues: listed.map((eValues) => eValues.get(id)),
    };
  });
  return rows.sort((a, b) => (a.eValues[0] ?? Infinity) - (b.eValues[0] ?? Infinity));
}

/** Counts the finds of each program for one query: those that are named after the query's family, and others. */
function summaryOf(
  id: string,
  { targets }: Release,
  byProgram: readonly ReadonlyMap<string, EValues>[],
): Summary {
  const nameOf = (protein: string): string =>
    String(targets.attribute(targets.find(protein) ?? 0, 'name') ?? '');
  const family = familyOf(nameOf(id));
  const counts = byProgram.map((program) => {
    const found = [...(program.get(id) ?? [])].filter(([other, e]) => other !== id && e <= EXAMPLE_LARGEST_E);
    const named = found.filter(([other]) => familyOf(nameOf(other)) === family).length;
    return { named, others: found.length - named };
  });
  return { id, name: nameOf(id), family: family?.name ?? '', counts };
}

function tsvOf(rows: readonly Row[]): string {
  const header = ['protein', ...FINDS_COLUMNS, 'family', 'organism', 'name'];
  const lines = rows.map(({ id, eValues, family = '', organism, name }) =>
    [id, ...eValues.map((e) => (e === undefined ? '' : e.toPrecision(2))), family, organism, name].join('\t'),
  );
  return `# Written by npm run bench -- example\n${[header.join('\t'), ...lines].join('\n')}\n`;
}
