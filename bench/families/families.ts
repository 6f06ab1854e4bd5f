import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { openAppliance, type Appliance } from '../../src/appliance.js';
import { buildRelease } from '../../src/build-release/release.js';
import { filesInput } from '../../src/build-release/sources/input-files.js';
import { loadConfig } from '../../src/config.js';
import { assert, Refusal } from '../../src/errors.js';
import { familyHomologs } from '../../src/find-homologs/families.js';
import { HOMOLOG_RULES } from '../../src/homologs/rules.js';
import { profileTokenForm } from '../../src/homologs/token-form.js';
import { unfilteredSpace } from '../../src/release/filter/target-space.js';
import { PROFILE_SCALE } from '../../src/release/profile-affine.js';
import { openCalibration } from '../../src/significance/sidecar.js';
import { searchMany } from '../../src/search/search.js';
import { NORMALIZATION_ID } from '../../src/sequence/protein.js';
import { familyIdOf } from '../../src/release/family-id.js';
import { MOST_FAMILY_MEMBERS } from '../../src/pipelines/input.js';
import { fastaFile, readFasta } from '../../src/sequence/fasta.js';
import type { Bench } from '../main.js';
import { calibrateBench } from '../tools/calibrated-database.js';
import { candidateScores, logEValueOf } from '../tools/candidate-scores.js';
import { readLabels, type DomainLabel } from '../tools/labels.js';
import { readProteins, type BenchProtein } from '../tools/proteins.js';
import { alignFamilies, hhsearchHits, hmmscanHits, phmmerHits, type TopHit, type TopHits } from './peers.js';
import { LEVELS, selectFamilies, type Level } from './select.js';

/*
 * Measures how often the family of a protein is found at the first place. The families are superfamilies of the
 * labelled domains, aligned by mafft. The queries are domains of dev folds, which no family holds and on which the
 * encoder was not trained. Gloaming, hmmscan and hhsearch search the same alignments with the same single sequences.
 * Gloaming compares them with the consensus of each family, and with its members.
 *
 * With `superfamily`, whole SCOPe families are left out as queries, so that only remote homologs of a query are in the
 * right family (select.ts).
 *
 *   npm run bench -- families [folder to keep] [families] [queries] [family|superfamily]
 */

/** Largest E-value of a trusted hit, as the default of `annotate`. */
const TRUSTED_E = 1e-3;
const PROGRAMS = { mafft: '--version', hmmscan: '-h', hhsearch: '-h' } as const;

export const run: Bench = async ([
  folderOption,
  familyCount = '150',
  queryCount = '300',
  level = 'family',
]) => {
  const counts = { familyCount: Number(familyCount), queryCount: Number(queryCount) };
  const shared = process.env.GLOAMING_SHARED ?? join(loadConfig(process.env).packageFolder, '..', 'shared');
  const scope = join(shared, 'data', 'scope40');
  const missing = await missingPrograms(PROGRAMS);
  if (!existsSync(join(scope, 'labels.tsv')) || missing.length > 0) {
    console.log(
      `Skipped: it needs the labelled domains at ${scope}, and ${missing.join(', ') || 'nothing else'}.`,
    );
    return { skipped: 'no data or no programs' };
  }
  const labels = readLabels(join(scope, 'labels.tsv'));
  const { list } = await readProteins(join(scope, 'domains.fasta'));
  const { families, queries } = selectFamilies(list, labels, {
    ...counts,
    level: levelNamed(level),
  });
  const folder = folderOption ?? (await mkdtemp(join(tmpdir(), 'gloaming-bench-families-')));
  await mkdir(folder, { recursive: true });
  const environment = { GLOAMING_INDEXES: join(folder, 'i'), GLOAMING_DATA: join(folder, 'd') };
  const appliance = await openAppliance(loadConfig({ ...process.env, ...environment }));
  try {
    const alignments = await alignFamilies(families, join(folder, 'alignments'));
    console.log(`${families.length} families, ${queries.length} queries`);
    const rows: Record<string, unknown> = {};
    const print = (name: string, hits: TopHits): void => {
      rows[name] = accuracyOf(hits, queries, labels);
      console.log(name.padEnd(26), JSON.stringify(rows[name]));
    };
    const path = await writeFamilies(alignments, folder);
    const members = await openFamilies(appliance, path, MOST_FAMILY_MEMBERS);
    for (const [ranking, hits] of Object.entries(await ourHits(members, queries)))
      print(`gloaming, members, ${ranking}`, hits);
    const engine = await openFamilies(appliance, path);
    for (const [ranking, hits] of Object.entries(await ourHits(engine, queries)))
      print(`gloaming, ${ranking}`, hits);
    print('hmmscan', await hmmscanHits(alignments, queries, folder));
    print('hmmscan --max', await hmmscanHits(alignments, queries, folder, ['--max']));
    print('phmmer --max, members', await phmmerHits(alignments, queries, folder));
    print('hhsearch', await hhsearchHits(alignments, queries, folder));
    return { families: families.length, queries: queries.length, rows };
  } finally {
    await appliance.close();
    if (folderOption === undefined) await rm(folder, { recursive: true });
  }
};

function levelNamed(name: string): Level {
  const level = LEVELS.find((each) => each === name);
  assert(level !== undefined, `the level is ${LEVELS.join(' or ')}`);
  return level;
}

export async function missingPrograms(
  programs: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const [program, option] of Object.entries(programs)) {
    await promisify(execFile)(program, [option]).catch(() => missing.push(program));
  }
  return missing;
}

/** Writes the families as one Stockholm file. Returns its path. */
export async function writeFamilies(
  alignments: ReadonlyMap<string, string>,
  folder: string,
): Promise<string> {
  const path = join(folder, 'families.sto');
  const texts: string[] = [];
  for (const [id, alignment] of alignments) texts.push(await stockholmOf(id, alignment));
  await writeFile(path, texts.join(''));
  return path;
}

/**
 * Builds a release of the families, as `gloaming index build` does, and calibrates it.
 * @param members  as of `--members`; absent for a release of the consensus of each family
 */
export async function openFamilies(appliance: Appliance, path: string, members?: number) {
  const slug = members === undefined ? 'families' : 'members';
  const { config } = appliance;
  const encoder = await appliance.loadEncoder(config.encoder);
  const input = await filesInput({ proteins: [path], members });
  const { release } = await buildRelease({
    indexesFolder: config.indexesFolder,
    slug,
    input,
    encoder,
    ...(members === undefined && {
      buildHomologs: {
        finder: familyHomologs(HOMOLOG_RULES),
        form: profileTokenForm(encoder.card, PROFILE_SCALE),
        rules: HOMOLOG_RULES,
        homologSource: { method: 'families', sha256: input.digest },
      },
    }),
  });
  await encoder.close();
  const { id, manifest } = release;
  await appliance.releases.publish({ id, slug, publishedAt: new Date().toISOString(), manifest });
  const engine = await appliance.engines.open(id);
  const identity = { id, targetCount: engine.release.targets.count };
  if ((await openCalibration(release.directory, identity)) === undefined) {
    // A few dozen families have too few pairs. Their hits are ranked by score alone.
    await calibrateBench(appliance, engine).catch((cause: unknown) => {
      if (!(cause instanceof Refusal)) throw cause;
      console.log(cause.message);
    });
  }
  return { ...engine, calibration: await openCalibration(release.directory, identity) };
}

async function stockholmOf(id: string, alignment: string): Promise<string> {
  const rows: string[] = [];
  for await (const { header, text } of readFasta(fastaFile(alignment))) {
    rows.push(`${header.split(/\s/, 1)[0]} ${text.replace(/\s/g, '')}\n`);
  }
  return `# STOCKHOLM 1.0\n#=GF ID ${id}\n${rows.join('')}//\n`;
}

/** Returns the best family of each query by affine score and, with a calibration, by E-value. */
async function ourHits(
  engine: Awaited<ReturnType<typeof openFamilies>>,
  queries: readonly BenchProtein[],
): Promise<Readonly<Record<string, TopHits>>> {
  const settings = {
    targetSpace: unfilteredSpace(engine.release),
    limit: engine.release.targets.count,
    evidence: 'candidate_measurement',
    guarantee: 'exhaustive',
    significance: engine.calibration === undefined ? 'not_requested' : 'if_available',
  } as const;
  const batch = queries.map(({ sequence }) => ({ sequence, normalizationId: NORMALIZATION_ID }));
  const hits: Record<string, Map<string, TopHit>> = {};
  for (const [index, { candidates }] of (await searchMany(batch, settings, engine)).entries()) {
    for (const ranking of ['affine', 'evalue'] as const) {
      const scored = candidates.flatMap((candidate) => {
        const score = candidateScores[ranking](candidate);
        return score === undefined ? [] : [{ candidate, score }];
      });
      const best = scored.toSorted((a, b) => b.score - a.score)[0]?.candidate;
      if (best === undefined) continue;
      const logE = logEValueOf(best);
      const { targets } = engine.release;
      const family = familyIdOf(targets.attributes(best.targetIndex)) ?? targets.id(best.targetIndex);
      (hits[ranking] ??= new Map()).set(queries[index].id, {
        family,
        ...(logE !== undefined && { eValue: Math.exp(logE) }),
      });
    }
  }
  return hits;
}

/** Counts queries whose best family is their superfamily, among all hits and among those with small E-values. */
function accuracyOf(
  hits: TopHits,
  queries: readonly BenchProtein[],
  labels: ReadonlyMap<string, DomainLabel>,
) {
  let [correct, trusted, trustedFalse] = [0, 0, 0];
  for (const { id } of queries) {
    const hit = hits.get(id);
    if (hit === undefined) continue;
    const { superfamily, foldGroup } = labels.get(id)!;
    const isCorrect = hit.family === superfamily;
    if (isCorrect) correct += 1;
    if ((hit.eValue ?? Number.POSITIVE_INFINITY) > TRUSTED_E) continue;
    if (isCorrect) trusted += 1;
    else if (hit.family.split('.', 2).join('.') !== foldGroup) trustedFalse += 1;
  }
  const share = (count: number): number => count / queries.length;
  return { top1: share(correct), correctTrusted: share(trusted), falseTrusted: share(trustedFalse) };
}
