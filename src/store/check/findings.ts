/*
 * Findings of a check of the appliance's data, and their repairs. Damage is lost or contradictory data. A leftover is
 * harmless waste of an interrupted process, which is removed automatically.
 */

const START = 'The next start of the server removes it.';
const FROM_BACKUP = 'Restore the latest good backup with "gloaming restore" into an empty data folder.';
const REPORT = `${FROM_BACKUP} If the disk is healthy, this is a fault of the program: please report it.`;
const AGAIN = `Restore a backup, or delete the files named with it and upload them again.`;
const RELEASE =
  'Put its files back from a backup, or remove it with "gloaming index remove" and build it again.';

export const FINDING_KINDS = {
  control_state_damaged: { level: 'damage', remedy: FROM_BACKUP },
  row_unreadable: { level: 'damage', remedy: FROM_BACKUP },
  index_dangling: { level: 'damage', remedy: REPORT },
  index_missing: { level: 'damage', remedy: REPORT },
  reference_dangling: { level: 'damage', remedy: REPORT },
  count_wrong: { level: 'damage', remedy: REPORT },
  total_wrong: { level: 'damage', remedy: REPORT },
  value_changed: { level: 'damage', remedy: FROM_BACKUP },
  object_missing: { level: 'damage', remedy: AGAIN },
  object_size_wrong: { level: 'damage', remedy: AGAIN },
  object_changed: { level: 'damage', remedy: AGAIN },
  run_rows_damaged: { level: 'damage', remedy: 'Restore a backup, or submit the run again.' },
  event_missing: { level: 'damage', remedy: REPORT },
  delivery_without_event: { level: 'damage', remedy: REPORT },
  release_missing: { level: 'damage', remedy: RELEASE },
  release_damaged: { level: 'damage', remedy: RELEASE },
  calibration_damaged: {
    level: 'damage',
    remedy:
      'Put its files back from a backup, or calibrate the release again with "gloaming index calibrate".',
  },
  neighbours_damaged: {
    level: 'damage',
    remedy: 'Find the neighbours of the release again with "gloaming index neighbours".',
  },
  homolog_source_damaged: {
    level: 'damage',
    remedy:
      'Put its folder back from a copy, or delete it and make it again with "gloaming homolog-source add".',
  },
  encoder_missing: {
    level: 'damage',
    remedy: 'Install this version of the encoder again, or restore it from a backup.',
  },
  encoder_copy_damaged: {
    level: 'damage',
    remedy:
      'Put its files back from a backup. If this version of the encoder is installed, delete the folder instead: the ' +
      'next build keeps a copy again.',
  },
  object_unreferenced: { level: 'leftover', remedy: START },
  object_half: { level: 'leftover', remedy: START },
  object_garbage: { level: 'leftover', remedy: 'The server removes it after the last reader has closed it.' },
  build_unfinished: {
    level: 'leftover',
    remedy: 'Run the same build again, or drop it with "gloaming index remove --unfinished".',
  },
  removal_unfinished: { level: 'leftover', remedy: 'The next "gloaming index" command removes it.' },
  folder_half: { level: 'leftover', remedy: 'No process reads it. Delete it while no command is running.' },
} as const satisfies Readonly<Record<string, { level: 'damage' | 'leftover'; remedy: string }>>;

export type FindingKind = keyof typeof FINDING_KINDS;

export interface Finding {
  readonly kind: FindingKind;
  /** Subject of the finding: a table and key, a digest or a path. */
  readonly subject: string;
  readonly message: string;
}

export type Report = (kind: FindingKind, subject: string, message: string) => void;
