import { openJob, type JobName } from '../../services/jobs.js';
import { createProgress, wordsOf, type Progress, type ProgressStream } from './progress.js';
import { createWholeProgress, type WholeWork } from './whole-progress.js';

/** Progress of a command, which the console of a server on this machine shows, too, until it is closed. */
export interface JobProgress extends Progress {
  close(): void;
}

const TICK_MS = 1_000;

/** @param whole  stages that are shown as one piece of work; absent = each stage for itself */
export function createJobProgress(
  stream: ProgressStream,
  dataFolder: string,
  name: JobName,
  whole?: WholeWork,
): JobProgress {
  const progress = whole === undefined ? createProgress(stream) : createWholeProgress(stream, whole);
  const job = openJob(dataFolder, name);
  // Another program at work, such as mmseqs, reports nothing for minutes.
  const timer = setInterval(() => progress.tick(), TICK_MS).unref();
  return {
    update(state) {
      progress.update(state);
      job.update(wordsOf(state));
    },
    tick: () => progress.tick(),
    end: () => progress.end(),
    close() {
      clearInterval(timer);
      progress.end();
      job.close();
    },
  };
}
