import type { ApplianceConfig } from '../../config.js';
import type { BuildOptions } from '../../pipelines/build.js';
import {
  comparedResidues,
  expectedStages,
  guessedExtent,
  type BuildExtent,
} from '../../pipelines/estimate.js';
import { inputSize } from '../../pipelines/input.js';
import { hasReferenceNull } from '../../pipelines/reference-null.js';
import { readRates, recordRate, type RateName } from '../../pipelines/rates.js';
import type { WholeWork } from '../terminal/whole-progress.js';

const MEASURED: ReadonlySet<string> = new Set<RateName>([
  'digest',
  'read',
  'encode',
  'write',
  'calibrate',
  'codebook',
]);

/**
 * Plans the bar of a build from the rates of this machine, and stores the rates that the build measures. Counts of
 * proteins and residues take the place of guesses as soon as a stage reports them.
 * Errors  Refusal `file_not_found`
 */
export async function wholeBuild(
  config: ApplianceConfig,
  {
    slug,
    input,
    encoder: named,
    homologs,
    alignments,
    embeddings,
    calibrates,
    qualifies,
    policy,
  }: BuildOptions,
): Promise<WholeWork> {
  const { dataFolder, threads } = config;
  const encoderId = named ?? config.encoder;
  const rates = readRates(dataFolder, encoderId);
  const isByReference = calibrates && (await hasReferenceNull(encoderId, config));
  const parts = {
    calibrates,
    hasReferenceNull: isByReference,
    qualifies: calibrates && qualifies,
    policy,
  };
  // Homologs and given features change the pace of the encoding, which is no measure of the encoder then.
  const isPlain = alignments === undefined && embeddings === undefined && ['none', 'auto'].includes(homologs);
  let extent: BuildExtent = guessedExtent(await inputSize(input));
  let passes = 0;
  const plan = () => expectedStages(extent, rates, threads, parts);
  return {
    label: `Building ${slug}`,
    stages: plan(),
    refine({ stage, done, total }) {
      if (stage === 'encode' && done === 0) passes += 1;
      const next = nextExtent(extent, stage, total);
      if (next === undefined) return undefined;
      extent = next;
      return plan();
    },
    onStage(stage, units, ms) {
      if (stage === 'qualify')
        recordRate(dataFolder, encoderId, { name: stage, units: units * comparedResidues(extent), ms });
      else if (MEASURED.has(stage) && (stage !== 'encode' || (isPlain && passes <= 1)))
        recordRate(dataFolder, encoderId, { name: stage as RateName, units, ms });
    },
  };
}

/** The extent with what the total of a stage says; undefined where it says nothing new. */
function nextExtent(extent: BuildExtent, stage: string, total: number): BuildExtent | undefined {
  if (stage === 'encode' && total !== extent.residues) {
    const proteins = Math.max(1, Math.round((extent.proteins * total) / Math.max(1, extent.residues)));
    return { ...extent, residues: total, proteins };
  }
  return stage === 'write' && total !== extent.proteins ? { ...extent, proteins: total } : undefined;
}
