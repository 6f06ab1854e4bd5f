import type { AffineAlignment, AffineParameters, KernelOptions, TokenStore } from '../kernels/kernels.js';
import { openInMemory } from '../kernels/memory-store.js';
import { sourceOf } from '../kernels/stretch-tokens.js';
import { judgeTail, type Calibration } from '../significance/calibration.js';
import { UNCONTROLLED_FORMAT } from '../significance/card.js';
import { CHANCE_COORDINATE, controlledCoordinate, reversed } from '../significance/control.js';
import { momentForm, momentsOfPair, proteinMoments } from '../significance/moments.js';
import { nullPairOf } from '../significance/null-pair.js';
import { controlCoordinate, tailCoordinate, type PairScore } from '../significance/pair-null.js';
import { affineParameters, pathParameters, type AlignedProtein } from './pairs/affine.js';
import { pairScores, withoutWeakEnds } from './pairs/ends.js';
import { repeatShareFor } from './pairs/repeats.js';
import { covariatesOf, type ProteinCovariates } from './covariates.js';
import { compareReferenceSet } from './exhaustive.js';
import { maxsimDistances } from './rank.js';
import { unsupportedMoments, unsupportedQuery } from './refusals.js';
import type { SearchEngine } from './search-types.js';
import { binOf } from './significance.js';

/** The best alignment of two stretches that were encoded as proteins of their own, in their coordinates. */
export interface StretchAlignment {
  /** By the parameters of scores. */
  readonly scored: () => Promise<AffineAlignment>;
  /** By the parameters of paths, without weak ends (pairs/ends.ts). */
  readonly path: () => Promise<AffineAlignment>;
  /** ln of the probability that an unrelated pair scores as well; undefined if the pair is not calibrated. */
  readonly logProbability: () => Promise<number | undefined>;
}

/** Aligns a stretch of the query with one of a target. Errors  Fault of encoder or kernels; the signal's reason */
export type AlignStretches = (query: string, target: string) => Promise<StretchAlignment>;

/** A stretch as a protein of its own. */
interface StretchProtein extends AlignedProtein {
  /** Undefined where its composition or length is not calibrated. */
  readonly covariates: () => Promise<ProteinCovariates | undefined>;
  readonly store: () => Promise<TokenStore>;
  readonly backwards: () => Promise<AlignedProtein>;
}

/** Ends of a path that add less than so many gap openings are left out. */
const LEAST_END_GAPS = 2;
const ONLY_TARGET = Uint32Array.of(0);

/**
 * Returns a function that aligns and judges stretches as a search does with whole proteins: own tokens, moments,
 * hubness and reversed-query control. It encodes equal stretches once.
 * Cost  an encoding of each stretch; for its judgement one more of the reversed query, and a scan of the reference set
 */
export function openStretches(
  engine: SearchEngine,
  calibration: Calibration,
  options: KernelOptions,
): AlignStretches {
  const { release, backend } = engine;
  const { inverse_step: inverseStep } = release.manifest.encoder;
  const proteins = new Map<string, Promise<StretchProtein>>();
  const proteinOf = (sequence: string): Promise<StretchProtein> => {
    const known = proteins.get(sequence) ?? openStretch(sequence, engine, calibration, options);
    proteins.set(sequence, known);
    return known;
  };
  const textOf = ({ sequence }: AlignedProtein): Uint8Array => Buffer.from(sequence, 'latin1');
  const parametersOf = (query: AlignedProtein, target: AlignedProtein): AffineParameters =>
    affineParameters(release, query, ONLY_TARGET, textOf(target));
  return async (querySequence, targetSequence) => {
    const [query, target] = [await proteinOf(querySequence), await proteinOf(targetSequence)];
    const store = await target.store();
    const alignBy = async (by: AffineParameters): Promise<AffineAlignment> => {
      const [found] = await backend.affineAlign(store, query.tokens, ONLY_TARGET, by, options);
      return found;
    };
    const scored = once(() => alignBy(parametersOf(query, target)));
    const path = async (): Promise<AffineAlignment> => {
      const ofPaths = pathParameters(release, query, ONLY_TARGET, textOf(target));
      const found = await alignBy(ofPaths);
      const leastGain = LEAST_END_GAPS * ofPaths.gapOpen;
      return withoutWeakEnds(found, pairScores(query.tokens, target.tokens, ofPaths), ofPaths, leastGain);
    };
    const logProbability = async (): Promise<number | undefined> => {
      const { card, bins, pairNull, logLevel } = calibration;
      const [own, others] = [await query.covariates(), await target.covariates()];
      const { score } = await scored();
      if (own === undefined || others === undefined || score === 0) return undefined;
      const bin = binOf(bins, card, own.length, others.length);
      if (bin.card.status !== 'qualified') return undefined;
      const [sums] = await backend.maxsim(store, [query.tokens], undefined, options);
      const ofTarget = { queryToTarget: sums.queryToTarget[0], targetToQuery: sums.targetToQuery[0] };
      const { bidirectional } = maxsimDistances(ofTarget, own.length, others.length, inverseStep);
      const moments = momentsOfPair(own.projected, others.projected);
      const pair = nullPairOf(moments, own, others, calibration.repeats);
      const scoreOf = (affineScore: number): PairScore => {
        return { affineScore, meanClosestCosine: 1 - bidirectional, profileScore: 0 };
      };
      let coordinate = tailCoordinate(pairNull, pair, scoreOf(score));
      if (coordinate > CHANCE_COORDINATE && card.format !== UNCONTROLLED_FORMAT) {
        const backwards = await query.backwards();
        const control = parametersOf(backwards, target);
        const { scores } = await backend.affineScores(store, backwards.tokens, ONLY_TARGET, control, options);
        const controlled = controlCoordinate(pairNull, pair, scoreOf(scores[0]));
        coordinate = controlledCoordinate(coordinate, controlled);
      }
      const { logProbability: log } = judgeTail(bin, coordinate, card.maximum_log_extrapolation_factor);
      return Math.min(0, log + logLevel);
    };
    return { scored, path, logProbability };
  };
}

async function openStretch(
  sequence: string,
  engine: SearchEngine,
  calibration: Calibration,
  options: KernelOptions,
): Promise<StretchProtein> {
  const { release, backend, encoder } = engine;
  const encode = async (residues: string): Promise<AlignedProtein> => {
    const [tokens] = await encoder.encode([residues], { signal: options.signal });
    return { sequence: residues, tokens };
  };
  const { tokens } = await encode(sequence);
  const source = sourceOf(tokens);
  return {
    sequence,
    tokens,
    store: () => openInMemory(source, backend),
    backwards: once(() => encode(reversed(sequence))),
    covariates: once(async () => {
      const { card } = calibration;
      const moments = proteinMoments(tokens, momentForm(release.manifest));
      if (unsupportedQuery(tokens.length, card) ?? unsupportedMoments(moments, card)) return undefined;
      const [sums] = (await compareReferenceSet([tokens], calibration.referenceSet, engine, options))!;
      const repeatShare = await repeatShareFor(tokens, engine, calibration, options);
      return covariatesOf(sequence, moments, sums, repeatShare, release, calibration);
    }),
  };
}

/** Returns a function that makes its value at its first call. */
function once<Value>(make: () => Promise<Value>): () => Promise<Value> {
  let made: Promise<Value> | undefined;
  return () => (made ??= make());
}
