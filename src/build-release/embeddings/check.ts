import { Refusal } from '../../errors.js';
import type { Encoder } from '../../encoder/encoder.js';
import { readProteinSpool, type SpooledProtein } from '../protein-spool.js';
import { embeddedTokens, type GivenEmbeddings } from './embeddings.js';

/** What was found before the first token was made. */
export interface EmbeddingCheck {
  /** Proteins that have an embedding. */
  readonly targets: number;
  /** Proteins of the sample that was encoded again, and the lowest mean cosine of one of them. */
  readonly sampleCount: number;
  readonly lowestCosine: number;
}

const SAMPLE_PROTEINS = 8;
/** Of a protein of the sample: a large model takes seconds for these on a processor. */
const SAMPLE_MAX_RESIDUES = 1_000;
/**
 * Mean over a protein's residues, of tokens of the embedding with those that the encoder gives. Of eight proteins and
 * gloaming-1 the lowest was 1.000 in half precision, .987 with noise of .02 on each of 64 components, .342 where all
 * was shifted by a residue, and −.090 in other coordinates.
 */
const LEAST_COSINE = 0.95;

/**
 * Compares all lengths with the sequences, and some proteins with what the encoder gives for them, so that nothing is
 * built that its queries would not match.
 * Errors  Refusal `invalid_embeddings` with the protein; those of the encoder
 */
export async function checkEmbeddings(
  spoolPath: string,
  targets: number,
  encoder: Encoder,
  given: GivenEmbeddings,
  signal?: AbortSignal,
): Promise<EmbeddingCheck> {
  const every = Math.max(1, Math.floor(targets / SAMPLE_PROTEINS));
  const maxResidues = Math.min(SAMPLE_MAX_RESIDUES, encoder.card.window?.residues ?? SAMPLE_MAX_RESIDUES);
  const sample: SpooledProtein[] = [];
  let [found, ordinal] = [0, 0];
  for await (const { protein } of readProteinSpool(spoolPath)) {
    signal?.throwIfAborted();
    ordinal += 1;
    if (!isShaped(protein, given)) continue;
    found += 1;
    // The next one that is short enough, after so many each time.
    const isDue = sample.length < SAMPLE_PROTEINS && ordinal > sample.length * every;
    if (isDue && protein.sequence.length <= maxResidues) sample.push(protein);
  }
  if (found === 0) {
    throw new Refusal(
      'invalid_embeddings',
      'There is no embedding of any of these proteins; they are found by id.',
    );
  }
  return {
    targets: found,
    sampleCount: sample.length,
    lowestCosine: await compare(sample, encoder, given, signal),
  };
}

/** False where there is no embedding. Errors  Refusal where it is of another protein or model */
function isShaped({ id, sequence }: SpooledProtein, { embeddings, project }: GivenEmbeddings): boolean {
  const shape = embeddings.shapeOf(id);
  if (shape === undefined) return false;
  if (shape.residues !== sequence.length) {
    throw new Refusal(
      'invalid_embeddings',
      `The embedding of ${id} has ${shape.residues} residues, its sequence ${sequence.length}: they are of ` +
        'different versions. Give the sequences that were embedded.',
      { id },
    );
  }
  if (shape.features === project.width) return true;
  throw new Refusal(
    'invalid_embeddings',
    `The embedding of ${id} has ${shape.features} features a residue, the encoder ${project.width}: they are of ` +
      'different models.',
    { id },
  );
}

async function compare(
  sample: readonly SpooledProtein[],
  encoder: Encoder,
  given: GivenEmbeddings,
  signal: AbortSignal | undefined,
): Promise<number> {
  if (sample.length === 0) {
    throw new Refusal(
      'invalid_embeddings',
      `No protein with an embedding has ${SAMPLE_MAX_RESIDUES} residues or fewer: ` +
        'none can be held against the encoder.',
    );
  }
  const encoded = await encoder.encode(
    sample.map(({ sequence }) => sequence),
    { signal },
  );
  const cosines = sample.map((protein, at) =>
    meanCosine(embeddedTokens(protein, given).values, encoded[at].values, encoder.card.dimension),
  );
  const lowest = Math.min(...cosines);
  if (lowest >= LEAST_COSINE) return lowest;
  const { id } = sample[cosines.indexOf(lowest)];
  throw new Refusal(
    'invalid_embeddings',
    `The embedding of ${id} is not what ${encoder.card.id} gives: the mean cosine of its residues is ` +
      `${lowest.toFixed(3)}, and ${LEAST_COSINE} or more is expected. Is it of the same model and layer?`,
    { id, cosine: lowest },
  );
}

/** Over residues; one without a direction is like nothing. */
function meanCosine(left: Int8Array, right: Int8Array, dimension: number): number {
  let sum = 0;
  for (let start = 0; start < left.length; start += dimension) {
    let [dot, leftNorm, rightNorm] = [0, 0, 0];
    for (let at = start; at < start + dimension; at += 1) {
      dot += left[at] * right[at];
      leftNorm += left[at] ** 2;
      rightNorm += right[at] ** 2;
    }
    sum += dot / Math.max(1, Math.sqrt(leftNorm * rightNorm));
  }
  return (sum * dimension) / left.length;
}
