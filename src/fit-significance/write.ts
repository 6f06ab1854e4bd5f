import { copyFile, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  Field,
  FixedSizeList,
  Float32,
  RecordBatch,
  Schema,
  Struct,
  Table,
  makeData,
  tableToIPC,
} from 'apache-arrow';
import {
  BASIS_FILE,
  CARD_FILE,
  REFERENCE_FILE,
  TARGETS_FILE,
  calibrationDirectory,
  type CalibrationCard,
  type FileCard,
} from '../significance/card.js';
import {
  PROFILE_MEAN_SIZE,
  PROFILE_SECOND_SIZE,
  secondMomentSize,
  type MomentTable,
  type ProfileTable,
} from '../significance/moments.js';
import { HUBNESS_COMPONENT_COUNT } from '../significance/pair-null.js';
import type { HubnessTable } from '../significance/hubness.js';
import { cardText } from '../significance/sidecar.js';
import { sha256Hex } from '../canonical.js';
import { putFolder } from '../files.js';

/** A calibration card without its files. */
export type CardContent = Omit<CalibrationCard, 'files'>;

/** Covariates of every target of a release. */
export interface TargetCovariates {
  readonly moments: MomentTable;
  readonly hubnesses: Pick<HubnessTable, 'of'>;
  /** Shape: [targets]. Unit: 1. Undefined if the null has no model of repeats. */
  readonly repeatShares?: Float32Array | undefined;
}

/**
 * Writes a calibration beside its release and replaces an existing one. A process that opens the release meanwhile
 * reads the old calibration, none, or the new one, but no incomplete one.
 * @param reference  file of the reference set, if its members are not targets of the release
 * Errors  those of the file system
 */
export async function writeCalibration(
  releaseDirectory: string,
  content: CardContent,
  { moments, hubnesses, repeatShares }: TargetCovariates,
  reference?: { readonly path: string; readonly file: FileCard },
): Promise<CalibrationCard> {
  const destination = calibrationDirectory(releaseDirectory);
  const folder = `${destination}.new`;
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const { dimension, rank, profiles } = moments;
  const targets = arrowBytes([
    ['mean', moments.means, dimension],
    ['sketch', moments.sketches, rank],
    ...hubnessColumns(hubnesses, moments.means.length / dimension, profiles !== undefined),
    ...(profiles === undefined ? [] : profileColumns(profiles)),
    ...(repeatShares === undefined ? [] : [['repeat_share', repeatShares, 1] as const]),
  ]);
  const basis = arrowBytes([['component', moments.basis, secondMomentSize(dimension)]]);
  const card: CalibrationCard = {
    ...content,
    files: {
      targets: await writeBytes(folder, TARGETS_FILE, targets),
      basis: await writeBytes(folder, BASIS_FILE, basis),
      ...(reference && { reference: await takeReference(folder, reference) }),
    },
  };
  await writeFile(join(folder, CARD_FILE), cardText(card));
  await rm(destination, { recursive: true, force: true });
  await putFolder(folder, destination);
  return card;
}

/** Puts the proteins of a reference null beside the calibration, so that a copied release needs no encoder folder. */
async function takeReference(
  folder: string,
  { path, file }: { readonly path: string; readonly file: FileCard },
): Promise<FileCard> {
  await copyFile(path, join(folder, REFERENCE_FILE));
  return { ...file, path: REFERENCE_FILE };
}

function profileColumns({ means, seconds, logEffective }: ProfileTable): readonly Column[] {
  return [
    ['profile_mean', means, PROFILE_MEAN_SIZE],
    ['profile_second', seconds, PROFILE_SECOND_SIZE],
    ['log_effective', logEffective, 1],
  ];
}

function hubnessColumns(
  hubnesses: Pick<HubnessTable, 'of'>,
  count: number,
  hasHubnessComponents: boolean,
): readonly Column[] {
  const values = new Float32Array(count);
  const hubnessComponents = new Float32Array(hasHubnessComponents ? count * HUBNESS_COMPONENT_COUNT : 0);
  for (let target = 0; target < count; target += 1) {
    const protein = hubnesses.of(target);
    values[target] = protein.hubness;
    if (hasHubnessComponents)
      hubnessComponents.set(protein.hubnessComponents, target * HUBNESS_COMPONENT_COUNT);
  }
  return [
    ['bias', values, 1],
    ...(hasHubnessComponents ? [['leaning', hubnessComponents, HUBNESS_COMPONENT_COUNT] as const] : []),
  ];
}

async function writeBytes(folder: string, path: string, bytes: Uint8Array): Promise<FileCard> {
  await writeFile(join(folder, path), bytes);
  const { size } = await stat(join(folder, path));
  return { path, size_bytes: size, sha256: sha256Hex(bytes) };
}

type Column = readonly [name: string, values: Float32Array, width: number];

/** Returns an Arrow file whose columns are fixed-size lists of float32 with equal numbers of rows. */
function arrowBytes(columns: readonly Column[]): Uint8Array {
  const fields = columns.map(([name, , width]) => {
    return new Field(name, new FixedSizeList(width, new Field('item', new Float32(), false)), false);
  });
  const children = columns.map(([, values, width], column) =>
    makeData({
      type: fields[column].type as FixedSizeList<Float32>,
      length: values.length / width,
      child: makeData({ type: new Float32(), data: values }),
    }),
  );
  const schema = new Schema(fields);
  const [, values, width] = columns[0];
  const rows = makeData({ type: new Struct(fields), length: values.length / width, children });
  return tableToIPC(new Table([new RecordBatch(schema, rows)]), 'file');
}
