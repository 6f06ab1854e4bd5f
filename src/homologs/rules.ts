/** Thresholds that select the homologs of a profile. */
export interface HomologRules {
  /** Largest E-value of a homolog. */
  readonly maxEValue: number;
  /** Smallest coverage of the protein, 0..1. */
  readonly minCoverage: number;
  /** Largest identity to the protein and between two homologs, 0..1. Nearer copies add no information. */
  readonly maxIdentity: number;
  /** Largest number of homologs in the profile. */
  readonly profileCount: number;
  /** Largest number of homologs whose token vectors are averaged. */
  readonly vectorCount: number;
  /** Whether alignments lose their weak ends (weak-ends.ts) before they enter a profile. Only mmseqs's do. */
  readonly areEndsCut: boolean;
  /** Largest E-value by the compositions of the stretches (composition.ts). Only mmseqs's hits have one. */
  readonly maxComposedEValue?: number;
}

export const HOMOLOG_RULES: HomologRules = Object.freeze({
  maxEValue: 1e-3,
  minCoverage: 0.5,
  maxIdentity: 0.9,
  profileCount: 64,
  vectorCount: 16,
  areEndsCut: false,
});

/**
 * Rules for searches of more than one round. A false homolog of the first round brings its own homologs into the next.
 * At 1e-3, nine of 9,000 proteins find a false homolog, and it is a third of a small homolog set. Measured with 900 dev
 * domains: false hits at E = .001 were 24 times their expected number with 1e-3, and 4.4 times with 1e-5. Superfamily
 * sensitivity was .246 and .223, at one error per query .267 and .259.
 *
 * mmseqs corrects for composition in part, so the E-value that does so again may be larger. Of 3,000 reversed proteins,
 * 135 have homologs without this limit and 5 with it; 9,000 domains lose one in 2,700 of their homologs.
 */
export const ROUNDS_RULES: HomologRules = Object.freeze({
  ...HOMOLOG_RULES,
  maxEValue: 1e-5,
  areEndsCut: true,
  maxComposedEValue: 1e-3,
});
