import type { BuildReport } from '../../build-release/build-options.js';
import type { CalibratePhase } from '../../fit-significance/options.js';
import type { IndexOutcome } from '../../find-homologs/kept-index.js';
import type { QualifiedRelease } from '../../measure-recall/qualify.js';
import type { HomologSource } from '../../release/release.js';
import type { CalibrationCard } from '../../significance/card.js';
import type { ProgressState } from './progress.js';

export type { BuildReport } from '../../build-release/build-options.js';
export type { CalibratePhase } from '../../fit-significance/options.js';

/** Channels of a pipeline to its caller. */
export interface PipelineEvents {
  /** Ends the work between two steps; a repeated call resumes it. */
  readonly signal?: AbortSignal;
  readonly onProgress?: (state: ProgressState) => void;
  readonly onNotice?: (notice: Notice) => void;
}

export interface LargerRelease {
  readonly id: string;
  readonly proteins: number;
}

/** Event of a pipeline that its caller may report, as a value. */
export type Notice =
  | { readonly kind: 'input_recognised'; readonly input: string }
  /** The earlier release had homologs, and the new one has at most those found in its own proteins, or none. */
  | { readonly kind: 'homologs_lost'; readonly slug: string; readonly isOwnPossible: boolean }
  | HomologsSampled
  /** No protein has a homolog in the source: the release is built without homologs. */
  | { readonly kind: 'homologs_absent'; readonly slug: string; readonly homologSource: HomologSource }
  | { readonly kind: 'job_submitted'; readonly job: string; readonly taskCount: number }
  | {
      readonly kind: 'built';
      readonly report: BuildReport;
      readonly isServerDefault: boolean;
      /** The default release of the database until now, if the new one lacks a tenth of its proteins or more. */
      readonly larger?: LargerRelease;
    }
  | { readonly kind: 'calibration_planned'; readonly phases: readonly CalibratePhase[] }
  | { readonly kind: 'reference_contradicted' }
  | ({ readonly kind: 'calibrated' } & Calibrated)
  | { readonly kind: 'calibration_impossible'; readonly message: string }
  | ({ readonly kind: 'calibration_transferred' } & TransferredEvidence)
  | ({ readonly kind: 'qualified' } & Qualified)
  /** Disk of a homolog source, and of its k-mer indexes; 0 if it gets none. */
  | { readonly kind: 'homolog_source_estimated'; readonly bytes: number; readonly indexBytes: number }
  /** Whether a homolog source has k-mer indexes of its own now, and why not. */
  | { readonly kind: 'homolog_index'; readonly name: string; readonly outcome: IndexOutcome };

/** Sample of a database's proteins, searched for homologs among its others. */
export interface HomologsSampled {
  readonly kind: 'homologs_sampled';
  readonly slug: string;
  readonly proteins: number;
  /** Sampled proteins with at least one homolog. */
  readonly related: number;
  /** Estimated time for all proteins. Unit: ms */
  readonly allMs: number;
  readonly decision: 'search_all' | 'too_few' | 'too_slow';
}

export interface Calibrated {
  readonly card: CalibrationCard;
  readonly elapsedMs: number;
}

export interface Qualified extends QualifiedRelease {
  readonly elapsedMs: number;
}

/** Evidence that a release took over from one with the same proteins and tokens. */
export interface TransferredEvidence {
  /** Id of the measured release. */
  readonly from: string;
  readonly hasPolicy: boolean;
}
