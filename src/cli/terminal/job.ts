import { openJob, type JobName } from '../../services/jobs.js';
import { createProgress, wordsOf, type Progress, type ProgressStream } from './progress.js';

/** Progress of a command, which the console of a server on this machine shows, too, until it is closed. */
export interface JobProgress extends Progress {
  close(): void;
}

export function createJobProgress(stream: ProgressStream, dataFolder: string, name: JobName): JobProgress {
  const progress = createProgress(stream);
  const job = openJob(dataFolder, name);
  return {
    update(state) {
      progress.update(state);
      job.update(wordsOf(state));
    },
    end: () => progress.end(),
    close() {
      progress.end();
      job.close();
    },
  };
}
