import type { HomologsSampled, Notice } from '../../pipelines/events/notices.js';
import type { NoticeText } from '../terminal/pipeline.js';
import { formatDuration, formatQuantity } from '../terminal/progress.js';
import { describeBuild, describeHomologSource } from './built.js';
import { describeCalibration, describePhases, describePolicy, describeTransfer } from './evidence.js';

/** Returns the text that a command prints for a notice of a build, a calibration or a qualification. */
export function noticeText(notice: Notice): NoticeText {
  switch (notice.kind) {
    case 'input_recognised':
      return toError(`${notice.input}\n`);
    case 'homologs_lost': {
      const rest = notice.isOwnPossible ? 'at most those found among its own proteins' : 'none';
      return toError(
        `${notice.slug} had homologs; without --homologs or --alignments the new release has ${rest}.\n`,
      );
    }
    case 'homologs_sampled':
      return toError(describeSample(notice));
    case 'homologs_absent': {
      const source = describeHomologSource(notice.homologSource);
      return toError(
        `No protein has homologs by ${source}: ${notice.slug} is built without, which finds more.\n`,
      );
    }
    case 'job_submitted':
      return toError(`Job ${notice.job}: ${notice.taskCount} tasks.\n`);
    case 'built':
      return toOutput(describeBuild(notice));
    case 'calibration_planned':
      return toError(describePhases(notice.phases));
    case 'calibrated':
      return toOutput(`\nCalibrated it.\n${describeCalibration(notice)}`);
    case 'reference_contradicted':
      return toError(
        'Its pairs of proteins contradict the null of the encoder. A null of its own is fitted, which takes minutes.\n',
      );
    case 'calibration_impossible':
      return toOutput(`\n${notice.message}\n`);
    case 'calibration_transferred':
      return toOutput(`\n${describeTransfer(notice)}`);
    case 'qualified':
      return toOutput(`\nMeasured its approximate policy.\n${describePolicy(notice)}`);
    case 'homolog_index':
      return toError(describeIndex(notice));
    case 'homolog_source_estimated':
      return toOutput('');
  }
}

function describeSample({ slug, proteins, related, allMs, decision }: HomologsSampled): string {
  const time = formatDuration(allMs);
  const next = {
    too_few: 'too few for --homologs self.',
    too_slow: `--homologs self finds more by them, and takes about ${time} here; a source for mmseqs is faster.`,
    search_all: `homologs of all are searched now, in about ${time}. Until then ${slug} answers without.`,
  };
  return `Of ${proteins} sampled proteins ${related} have homologs among the others: ${next[decision]}\n`;
}

/** Returns the sentence about the k-mer indexes of a homolog source. */
export function describeIndex({
  name,
  outcome,
}: Extract<Notice, { readonly kind: 'homolog_index' }>): string {
  switch (outcome.kind) {
    case 'kept':
      return `The k-mer indexes of ${name} are kept beside it (${formatQuantity(outcome.bytes, 'B')}).\n`;
    case 'small':
      return `${name} is too small to need k-mer indexes of its own.\n`;
    case 'disk_full': {
      const [needed, free] = [outcome.neededBytes, outcome.freeBytes].map((bytes) =>
        formatQuantity(bytes, 'B'),
      );
      return (
        `The k-mer indexes of ${name} need ${needed} of disk, and ${free} are free: ` +
        'each search makes its own, which takes longer.\n'
      );
    }
    case 'failed':
      return (
        `The k-mer indexes of ${name} could not be made, so each search makes its own, which takes longer: ` +
        `${outcome.message}\n`
      );
  }
}

function toOutput(text: string): NoticeText {
  return { stream: 'stdout', text };
}

function toError(text: string): NoticeText {
  return { stream: 'stderr', text };
}
