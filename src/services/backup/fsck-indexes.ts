import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../errors.js';
import { exists } from '../../files.js';
import { findHomologSource, homologSourcesFolder } from '../../find-homologs/homolog-sources.js';
import { indexProblems, UNFINISHED_INDEX_PREFIX } from '../../find-homologs/kept-index.js';
import { CARD_FILE, calibrationDirectory } from '../../significance/card.js';
import { readCalibrationCard } from '../../significance/sidecar.js';
import { neighboursDirectory } from '../../neighbours/card.js';
import { verifyNeighbours } from '../../neighbours/sidecar.js';
import { verifyEvidence } from '../../recall/evidence.js';
import { POLICY_FILE } from '../../recall/policy-card.js';
import { releaseDirectory, scanReleases, type ScannedReleases } from '../../release/catalog.js';
import type { ReleaseManifest } from '../../release/release.js';
import { verifyRelease } from '../../release/verify.js';
import { readEncoderCard, verifyEncoderFiles } from '../../encoder/card.js';
import { encodersFolder, type EncoderFolders } from '../../encoder/find.js';
import { findEncoderVersion, keptEncoderProblems } from '../../encoder/encoder-store.js';
import type { Report } from '../../store/check/findings.js';
import { checkedRows } from '../../store/check/rows.js';
import type { Snapshot } from '../../store/snapshot.js';
import type { ReleaseRow } from '../../store/tables/releases.js';
import { RESTORING_FOLDER } from './restore.js';

export interface IndexesVerdict {
  readonly releaseCount: number;
  readonly releaseBytes: number;
}

/**
 * Recomputes the digests of all releases, their calibrations, neighbours and encoders, and checks the catalog against
 * the folders.
 * Errors  none for damage, which is a finding
 * Cost    one read of all of them
 */
export async function checkIndexes(
  folders: EncoderFolders,
  snapshot: Snapshot | undefined,
  report: Report,
  onBytes: (bytes: number, totalBytes: number) => void,
): Promise<IndexesVerdict> {
  const scanned = await scanReleases(folders.indexesFolder);
  let releaseBytes = 0;
  for (const { slug, id, directory } of [...scanned.releases, ...scanned.damaged]) {
    const verdict = await verifyRelease(directory, onBytes);
    releaseBytes += verdict.sizeBytes;
    for (const { path, isIntact, problem } of verdict.files) {
      if (!isIntact) report('release_damaged', `${slug}/${id}/${path}`, `It ${problem}.`);
    }
    await checkCalibration(`${slug}/${id}`, id, directory, report);
    for (const problem of await verifyNeighbours(directory, id)) {
      report('neighbours_damaged', `${slug}/${id}.neighbours`, sentenceOf(problem));
    }
  }
  for (const { id, sha256, problem } of await encoderProblems(scanned.releases, folders)) {
    report('encoder_missing', `${id} ${sha256}`, problem);
  }
  for (const { directory, problem } of await keptEncoderProblems(folders)) {
    report('encoder_copy_damaged', directory, problem);
  }
  for (const { directory } of scanned.unfinished) {
    report('build_unfinished', directory, 'A build was interrupted or is running.');
  }
  for (const directory of scanned.removed)
    report('removal_unfinished', directory, 'A removal was interrupted.');
  await checkHalfFolders(folders.indexesFolder, scanned, report);
  if (snapshot !== undefined) await checkCatalogFolders(scanned, folders.indexesFolder, snapshot, report);
  return { releaseCount: scanned.releases.length + scanned.damaged.length, releaseBytes };
}

async function checkCalibration(name: string, id: string, directory: string, report: Report): Promise<void> {
  for (const problem of await verifyEvidence(directory)) {
    report('calibration_damaged', `${name}.calibration`, sentenceOf(problem));
  }
  const card = await readCalibrationCard(directory).catch(() => undefined);
  if (card === undefined || card.release_id === id) return;
  report('calibration_damaged', `${name}.calibration`, `It belongs to release ${card.release_id}.`);
}

function sentenceOf(problem: string): string {
  return `${problem}.`.replace(/\.\.$/, '.');
}

/** An encoder that releases need and that is missing or damaged. */
export interface EncoderProblem {
  readonly id: string;
  readonly sha256: string;
  readonly problem: string;
}

/**
 * Checks the encoder of each release, and returns those that are missing or damaged.
 * Errors  none for damage
 * Cost    one read of each encoder
 */
export async function encoderProblems(
  releases: ScannedReleases['releases'],
  folders: EncoderFolders,
): Promise<readonly EncoderProblem[]> {
  const needed = new Map<string, ReleaseManifest['encoder']>();
  for (const { manifest } of releases) needed.set(manifest.encoder.sha256, manifest.encoder);
  const problems: EncoderProblem[] = [];
  for (const { id, sha256 } of needed.values()) {
    try {
      const directory = await findEncoderVersion(id, sha256, folders);
      await verifyEncoderFiles(directory, await readEncoderCard(directory));
    } catch (cause) {
      problems.push({ id, sha256, problem: (cause as Error).message });
    }
  }
  return problems;
}

/** Checks for folders that an interrupted command did not rename to their final name. */
async function checkHalfFolders(
  indexesFolder: string,
  scanned: ScannedReleases,
  report: Report,
): Promise<void> {
  const found = [...scanned.releases, ...scanned.damaged];
  const calibrations = new Set(found.map(({ directory }) => calibrationDirectory(directory)));
  const graphs = new Set(found.map(({ directory }) => neighboursDirectory(directory)));
  for (const slug of new Set(found.map((release) => release.slug))) {
    for (const name of await list(join(indexesFolder, slug))) {
      const path = join(indexesFolder, slug, name);
      if (name.endsWith('.calibration.new'))
        report('folder_half', path, 'A calibration was not written to its end.');
      if (name.endsWith('.neighbours.work'))
        report(
          'folder_half',
          path,
          'Neighbours were not found to the end; the same command goes on from here.',
        );
      if (name.endsWith('.calibration') && !calibrations.has(path))
        report('folder_half', path, 'The release of this calibration does not exist.');
      if (name.endsWith('.neighbours') && !graphs.has(path))
        report('folder_half', path, 'The release of these neighbours does not exist.');
    }
  }
  await checkHomologSources(indexesFolder, report);
  if ((await list(indexesFolder)).includes(RESTORING_FOLDER)) {
    report('folder_half', join(indexesFolder, RESTORING_FOLDER), 'A restore was interrupted.');
  }
  const encoders = encodersFolder(indexesFolder);
  for (const folder of [encoders, join(encoders, '.kept')]) {
    for (const name of await list(folder)) {
      if (!/^\.(adding|copy)-/.test(name)) continue;
      report('folder_half', join(folder, name), 'An encoder was not copied to its end.');
    }
  }
}

/**
 * Checks the cards of homolog sources, and for unfinished sources and k-mer indexes that are not whole. The latter two
 * are leftovers: searches make the index of a source themselves where it has no whole one.
 */
async function checkHomologSources(indexesFolder: string, report: Report): Promise<void> {
  const sources = homologSourcesFolder(indexesFolder);
  for (const name of await list(sources)) {
    const source = join(sources, name);
    if (name.startsWith('.adding-')) {
      report('folder_half', source, 'A homolog source was not made to its end.');
      continue;
    }
    await findHomologSource(indexesFolder, name).catch((cause: unknown) => {
      if (cause instanceof Fault) report('homolog_source_damaged', source, cause.message);
    });
    for (const folder of await list(source)) {
      if (!folder.startsWith(UNFINISHED_INDEX_PREFIX)) continue;
      report(
        'folder_half',
        join(source, folder),
        'The k-mer indexes of a homolog source were not made to the end.',
      );
    }
    for (const problem of await indexProblems(source))
      report('folder_half', join(source, 'index'), `It ${problem}.`);
  }
}

/** Checks that the folders have every release of the catalog, with the evidence that the catalog names. */
async function checkCatalogFolders(
  { releases, damaged }: ScannedReleases,
  indexesFolder: string,
  snapshot: Snapshot,
  report: Report,
): Promise<void> {
  const there = new Set([...releases, ...damaged].map(({ directory }) => directory));
  for (const [key, row] of checkedRows(snapshot).of<ReleaseRow>('releases')) {
    if (!snapshot.isThereNow('releases', key)) continue;
    const { id, slug } = row;
    const directory = releaseDirectory(indexesFolder, slug, id);
    if (!there.has(directory)) {
      report('release_missing', `${slug}/${id}`, `${directory} does not exist.`);
      continue;
    }
    for (const path of namedEvidence(directory, row)) {
      if (!(await exists(path)))
        report('calibration_damaged', `${slug}/${id}.calibration`, `${path} does not exist.`);
    }
  }
}

/** Returns the paths of the cards that the catalog names beside a release: of its calibration and of its policy. */
export function namedEvidence(
  directory: string,
  { calibrationId, qualificationId }: Pick<ReleaseRow, 'calibrationId' | 'qualificationId'>,
): readonly string[] {
  const folder = calibrationDirectory(directory);
  return [
    ...(calibrationId === undefined ? [] : [join(folder, CARD_FILE)]),
    ...(qualificationId === undefined ? [] : [join(folder, POLICY_FILE)]),
  ];
}

async function list(folder: string): Promise<readonly string[]> {
  return (await readdir(folder).catch(() => [])).sort();
}
