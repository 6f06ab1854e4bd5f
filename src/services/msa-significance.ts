import type { TargetSpace } from '../release/release.js';
import { maxsimDistances } from '../search/maxsim.js';
import { tokensSha256 } from '../search/receipt.js';
import type { SearchEngine } from '../search/search-types.js';
import { diagonalSelfScore } from '../search/self-score.js';
import { createJudge, type Judged } from '../search/significance.js';
import { targetIndexOf, type AlignedReceipt } from './msa-rows.js';

/**
 * Expected number of unrelated targets that score as well, for each candidate of a receipt: receipts hold integers
 * only, so the judgement is made again from the same tokens.
 * Range   undefined where the calibration does not support a number; for all, where there is no calibration or the
 *         encoder gives other tokens on this machine than those that were searched with
 * Errors  Fault of the encoder; the signal's reason
 */
export async function expectedFalseHits(
  { candidates, query }: AlignedReceipt,
  targetSpace: TargetSpace,
  engine: SearchEngine,
  signal: AbortSignal,
): Promise<readonly (number | undefined)[]> {
  if (engine.calibration === undefined) return candidates.map(() => undefined);
  const { targets, manifest, affine } = engine.release;
  const { dimension, inverse_step: inverseStep } = manifest.encoder;
  const [tokens] = await engine.encoder.encode([query.sequence], { signal });
  if (tokensSha256(tokens, dimension) !== query.tokens_sha256) return candidates.map(() => undefined);
  const querySelfScore = diagonalSelfScore(tokens, dimension, affine);
  const measured = candidates.map((candidate): Judged => {
    const targetIndex = targetIndexOf(candidate, engine.release);
    const sums = {
      queryToTarget: candidate.query_to_target_sum,
      targetToQuery: candidate.target_to_query_sum,
    };
    const rawScore = candidate.affine_score;
    const selfScore = Math.min(querySelfScore, targets.selfScore(targetIndex));
    return {
      targetIndex,
      maxsim: maxsimDistances(sums, tokens.length, targets.length(targetIndex), inverseStep),
      affine: { rawScore, normalizedScore: selfScore === 0 ? 0 : rawScore / selfScore },
    };
  });
  const judge = createJudge('if_available', [tokens.length], targetSpace, engine);
  return judge(tokens, measured).map(({ measurements }) => {
    const expected = measurements.expected_false_hits;
    return typeof expected === 'number' ? expected : undefined;
  });
}
