import type { Notice, PipelineEvents } from '../../pipelines/events/notices.js';
import type { JobName } from '../../services/jobs.js';
import type { CommandContext } from './command.js';
import { interruptible } from './interrupt.js';
import { createJobProgress } from './job.js';
import type { WholeWork } from './whole-progress.js';

/** Text of a notice, and the stream that it belongs to. */
export interface NoticeText {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
}

/**
 * Runs a pipeline for a command: draws its progress, prints the text of its notices, and aborts it on an interrupt.
 * @param whole  stages that are shown as one bar; absent = each stage for itself
 * @param textOf  text of a notice; undefined where the command prints nothing
 * Errors  those of the work
 */
export async function runPipeline<Result>(
  context: CommandContext,
  { dataFolder, whole, ...name }: JobName & { readonly dataFolder: string; readonly whole?: WholeWork },
  textOf: (notice: Notice) => NoticeText | undefined,
  work: (events: PipelineEvents) => Promise<Result>,
): Promise<Result> {
  const progress = createJobProgress(context.stderr, dataFolder, name, whole);
  const onNotice = (notice: Notice): void => {
    const printed = textOf(notice);
    if (printed === undefined) return;
    progress.end();
    context[printed.stream].write(printed.text);
  };
  try {
    return await interruptible((signal) => work({ signal, onProgress: progress.update, onNotice }));
  } finally {
    progress.close();
  }
}
