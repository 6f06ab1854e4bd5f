/** Parameters of a walk. A calibration of walks belongs to one set of them. */
export interface WalkParameters {
  /** Steps after the query's own hits. */
  readonly steps: number;
  /** Share of its weight that a protein passes on, in 256ths. Range: 0..256 */
  readonly passed_256ths: number;
  /** A hit weighs 1 ÷ (1 + this · E). */
  readonly evalue_factor: number;
  /** Largest E-value of a hit that counts, of the query and in the graph. */
  readonly largest_evalue: number;
  /**
   * Least overlap on a bridge of the stretch by which weight arrives and the stretch by which it leaves, in 256ths of
   * the shorter one. Range: 0..256
   */
  readonly overlap_256ths: number;
  /** Least weight of a protein that passes some on. Unit: 1 is a certain hit. */
  readonly least_passed: number;
}
