import { existsSync } from 'node:fs';
import { annotateRelease, type AnnotateReport } from '../build-release/annotate.js';
import { annotatedInput } from '../build-release/sources/earlier-release.js';
import type { InputFiles } from '../build-release/sources/input-files.js';
import { neighboursDirectory } from '../neighbours/card.js';
import { openRelease } from '../release/open.js';
import { readCalibrationCard } from '../significance/sidecar.js';
import { publishBuilt, type IndexCatalog, type LocatedRelease } from './catalog.js';
import type { PipelineEvents, TransferredEvidence } from './events/notices.js';
import { transferMeasured } from './transfer.js';

export interface AnnotateOptions extends Pick<InputFiles, 'metadata' | 'taxonomy'> {
  readonly title?: string;
  readonly description?: string;
  /** False if the release stays beside the default release of its database. */
  readonly isDefault: boolean;
}

export interface Annotated {
  readonly report: AnnotateReport;
  /** Absent where the release has a calibration already, or no identically measured release has one. */
  readonly transferred?: TransferredEvidence;
  /** Whether the earlier release has a graph of neighbours and this one has none. */
  readonly lacksNeighbours: boolean;
  readonly elapsedMs: number;
}

/**
 * Makes a release of the same proteins and tokens with other attributes, with the calibration of the earlier one.
 * Stage: `write`.
 * Errors  Refusals of the tables and the taxonomy; Faults of the disk
 */
export async function annotate(
  catalog: IndexCatalog,
  { slug, directory }: LocatedRelease,
  { metadata, taxonomy, title, description, isDefault }: AnnotateOptions,
  { onProgress }: PipelineEvents,
): Promise<Annotated> {
  const startedMs = performance.now();
  const release = await openRelease(directory);
  const input = await annotatedInput(release, { metadata, taxonomy });
  const { indexesFolder } = catalog.config;
  const report = await annotateRelease({
    indexesFolder,
    slug,
    release,
    input,
    title,
    description,
    onProgress,
  });
  const annotated = report.release;
  // The default changes last, so that every response has E-values meanwhile.
  const isCalibrated = (await readCalibrationCard(annotated.directory)) !== undefined;
  const row = await publishBuilt(catalog, { ...annotated, slug }, { isDefault: false });
  const transferred = isCalibrated ? undefined : await transferMeasured(catalog, annotated, slug);
  if (isDefault) await catalog.table.publish(row);
  const [had, has] = [directory, annotated.directory].map((each) => existsSync(neighboursDirectory(each)));
  const elapsedMs = performance.now() - startedMs;
  return { report, transferred, lacksNeighbours: had && !has, elapsedMs };
}
