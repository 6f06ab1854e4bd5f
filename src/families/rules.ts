/** What counts as a relative, and how many of them count. */
export interface RelativeRules {
  /** Largest E-value of a relative. */
  readonly maxExpected: number;
  /** Least share of the protein that a relative is aligned to. */
  readonly minCoverage: number;
  /** Largest identity to the protein and between two relatives: nearer copies tell nothing new. */
  readonly maxIdentity: number;
  /** Relatives whose letters make the profile. */
  readonly profileCount: number;
  /** Those among them whose vectors make the tokens. */
  readonly vectorCount: number;
}

export const RELATIVE_RULES: RelativeRules = Object.freeze({
  maxExpected: 1e-3,
  minCoverage: 0.5,
  maxIdentity: 0.9,
  profileCount: 64,
  vectorCount: 16,
});
