import { sampleDistinct, shuffled, type Random } from '../../random.js';
import type { Release } from '../../release/release.js';
import type { CalibrationCard } from '../../significance/card.js';

/** Upper bound of the proteins whose pairs give the level. More proteins would not change it noticeably. */
const MOST_PROTEINS = 1_000;
/**
 * Partners of each protein: half of its pairs, because each pair belongs to two proteins. Between seeds, the level of
 * 1,500 natural proteins varies by a factor of 1.05. Twice as many partners would make it 1.03 and cost 1.6 times the
 * time of the calibration.
 */
const MOST_PARTNERS = 60;

/** Pairs of targets of a release, each pair at most once. */
export interface LevelPairs {
  /** Target indices, in random order. */
  readonly proteins: Uint32Array;
  /** Each protein is paired with this many that follow it in cyclic order. */
  readonly partnerCount: number;
  readonly pairCount: number;
}

/** Draws the pairs of proteins within the supported lengths that give the level of a release. */
export function planLevelPairs(
  { targets }: Release,
  supported: CalibrationCard['supported'],
  random: Random,
): LevelPairs {
  const { target_minimum_residues: minimum, target_maximum_residues: maximum } = supported;
  const usable = Uint32Array.from({ length: targets.count }, (_, target) => target).filter(
    (target) => targets.length(target) >= minimum && targets.length(target) <= maximum,
  );
  const chosen = sampleDistinct(usable.length, MOST_PROTEINS, random).map((at) => usable[at]);
  const proteins = Uint32Array.from(shuffled(chosen, random));
  const partnerCount = partnerCountOf(proteins.length);
  return { proteins, partnerCount, pairCount: proteins.length * partnerCount };
}

/** Returns the number of pairs that a release with so many usable proteins has. */
export function levelPairCount(proteinCount: number): number {
  const count = Math.min(MOST_PROTEINS, proteinCount);
  return count * partnerCountOf(count);
}

/** Half of the other proteins at most: the other half has this one as a partner. */
function partnerCountOf(proteinCount: number): number {
  return Math.min(MOST_PARTNERS, Math.max(0, (proteinCount - 1) >>> 1));
}

/**
 * Returns the positions of the partners of a protein among the proteins of the plan.
 * Shape   [partnerCount]
 * Unit    positions in `proteins`
 * Range   0..proteins.length − 1
 */
export function partnersOf({ proteins, partnerCount }: LevelPairs, position: number): Uint32Array {
  return Uint32Array.from({ length: partnerCount }, (_, at) => (position + 1 + at) % proteins.length);
}
