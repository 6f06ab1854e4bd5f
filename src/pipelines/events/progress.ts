/** Step of a pipeline; its unit is that of `done` and `total`. */
export type PipelineStage =
  /** Bytes of the input. */
  | 'digest'
  | 'read'
  /** Bytes of earlier releases' tokens. */
  | 'reuse'
  /** Residues. */
  | 'encode'
  /** Proteins. */
  | 'write'
  /** Pairs of proteins that would take as long. */
  | 'calibrate'
  /** Residues. */
  | 'codebook'
  /** Queries. */
  | 'qualify'
  /** Chunks of queries times partitions of the targets. */
  | 'compare'
  /** Bytes. */
  | 'download';

/** State of a stage. `done` may start above 0 where an interrupted run had done a part. */
export interface ProgressState<Stage extends string = PipelineStage> {
  readonly stage: Stage;
  readonly done: number;
  readonly total: number;
  /** True where an earlier run had done the units up to `done`: they say nothing about the pace. */
  readonly isResumed?: boolean;
  /** Tasks that the stage is divided among, in the same unit. */
  readonly tasks?: readonly TaskProgress[];
}

export interface TaskProgress {
  readonly done: number;
  readonly total: number;
}

/** Sums the progress of tasks. */
export function sumOf(tasks: readonly TaskProgress[]): TaskProgress {
  return tasks.reduce((sum, task) => ({ done: sum.done + task.done, total: sum.total + task.total }), {
    done: 0,
    total: 0,
  });
}
