import { Refusal } from '../../errors.js';
import type { Encoder } from '../../encoder/encoder.js';
import { readProteinSpool, type SpooledProtein } from '../protein-spool.js';
import { embeddedTokens, type GivenEmbeddings } from './embeddings.js';

/** Result of the check of precomputed embeddings. */
export interface EmbeddingCheck {
  /** Proteins that have an embedding. */
  readonly targets: number;
  /** Proteins that were encoded again for comparison. */
  readonly sampleCount: number;
  /** Lowest mean cosine of a sampled protein. */
  readonly lowestCosine: number;
}

const SAMPLE_PROTEINS = 8;
/** Longest protein of the sample, for which a large model takes seconds on a CPU. */
const SAMPLE_MAX_RESIDUES = 1_000;
/**
 * Smallest accepted mean cosine between tokens of the embedding and tokens of the encoder, over the residues of a
 * protein. Lowest values measured for eight proteins with gloaming-1: 1.000 in half precision; .987 with noise of .02
 * on each of 64 components; .342 after a shift by one residue; −.090 in other coordinates.
 */
const LEAST_COSINE = 0.95;

/**
 * Checks the shapes of all embeddings against the sequences, and a sample of them against the encoder. Queries are
 * encoded by the encoder, so embeddings of another model could never match them.
 * Errors  Refusal `invalid_embeddings` with the protein; those of the encoder; errors of the file system; the signal's
 *         reason
 */
export async function checkEmbeddings(
  spoolPath: string,
  targets: number,
  encoder: Encoder,
  embeddings: GivenEmbeddings,
  signal?: AbortSignal,
): Promise<EmbeddingCheck> {
  const every = Math.max(1, Math.floor(targets / SAMPLE_PROTEINS));
  const maxResidues = Math.min(SAMPLE_MAX_RESIDUES, encoder.card.window?.residues ?? SAMPLE_MAX_RESIDUES);
  const sample: SpooledProtein[] = [];
  let [embeddedCount, ordinal] = [0, 0];
  for await (const { protein } of readProteinSpool(spoolPath)) {
    signal?.throwIfAborted();
    ordinal += 1;
    if (!isShaped(protein, embeddings)) continue;
    embeddedCount += 1;
    // Takes the first protein that is short enough after every `every` proteins.
    const isDue = sample.length < SAMPLE_PROTEINS && ordinal > sample.length * every;
    if (isDue && protein.sequence.length <= maxResidues) sample.push(protein);
  }
  if (embeddedCount === 0) {
    throw new Refusal(
      'invalid_embeddings',
      'None of these proteins has an embedding. Embeddings are matched by protein id.',
    );
  }
  return {
    targets: embeddedCount,
    sampleCount: sample.length,
    lowestCosine: await compare(sample, encoder, embeddings, signal),
  };
}

/**
 * Whether the protein has an embedding.
 * Errors  Refusal for an embedding of another shape than protein and model have
 */
function isShaped({ id, sequence }: SpooledProtein, { embeddings, project }: GivenEmbeddings): boolean {
  const shape = embeddings.shapeOf(id);
  if (shape === undefined) return false;
  if (shape.residues !== sequence.length) {
    throw new Refusal(
      'invalid_embeddings',
      `The embedding of ${id} has ${shape.residues} residues, and its sequence has ${sequence.length}. ` +
        'Use the sequences that were embedded.',
      { id },
    );
  }
  if (shape.features === project.width) return true;
  throw new Refusal(
    'invalid_embeddings',
    `The embedding of ${id} has ${shape.features} features per residue, and the encoder has ${project.width}. ` +
      'Use embeddings of the same model.',
    { id },
  );
}

async function compare(
  sample: readonly SpooledProtein[],
  encoder: Encoder,
  embeddings: GivenEmbeddings,
  signal: AbortSignal | undefined,
): Promise<number> {
  if (sample.length === 0) {
    throw new Refusal(
      'invalid_embeddings',
      `All proteins with an embedding have more than ${SAMPLE_MAX_RESIDUES} residues. ` +
        'At least one shorter protein is needed to check the embeddings against the encoder.',
    );
  }
  const encoded = await encoder.encode(
    sample.map(({ sequence }) => sequence),
    { signal },
  );
  const cosines = sample.map((protein, at) =>
    meanCosine(embeddedTokens(protein, embeddings).values, encoded[at].values, encoder.card.dimension),
  );
  const lowest = Math.min(...cosines);
  if (lowest >= LEAST_COSINE) return lowest;
  const { id } = sample[cosines.indexOf(lowest)];
  throw new Refusal(
    'invalid_embeddings',
    `The embedding of ${id} differs from that of ${encoder.card.id}: the mean cosine of its residues is ` +
      `${lowest.toFixed(3)}, below ${LEAST_COSINE}. Check that it is of the same model and layer.`,
    { id, cosine: lowest },
  );
}

/** Returns the mean cosine over residues; a zero vector has a cosine of 0. */
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
