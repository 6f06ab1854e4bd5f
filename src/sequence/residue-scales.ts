/* Amino-acid tables, in the order of AMINO_ACIDS. */

/** Amino-acid background frequencies. Range 0..1, sum about 1. Source: Robinson & Robinson 1991. */
export const BACKGROUND: readonly number[] = [
  0.07805, 0.05129, 0.04487, 0.05364, 0.01925, 0.04264, 0.06295, 0.07377, 0.02199, 0.05142, 0.09019, 0.05744,
  0.02243, 0.03856, 0.05203, 0.0712, 0.05841, 0.0133, 0.03216, 0.06441,
];

/** Propensities of amino acids for places in a fold. */
export const SCALES: Readonly<Record<string, readonly number[]>> = {
  /** Kyte & Doolittle 1982. */
  hydropathy: [
    1.8, -4.5, -3.5, -3.5, 2.5, -3.5, -3.5, -0.4, -3.2, 4.5, 3.8, -3.9, 1.9, 2.8, -1.6, -0.8, -0.7, -0.9,
    -1.3, 4.2,
  ],
  /** Helix propensities, and strand propensities below: Chou & Fasman 1978. */
  helix: [
    1.42, 0.98, 0.67, 1.01, 0.7, 1.11, 1.51, 0.57, 1.0, 1.08, 1.21, 1.16, 1.45, 1.13, 0.57, 0.77, 0.83, 1.08,
    0.69, 1.06,
  ],
  strand: [
    0.83, 0.93, 0.89, 0.54, 1.19, 1.1, 0.37, 0.75, 0.87, 1.6, 1.3, 0.74, 1.05, 1.38, 0.55, 0.75, 1.19, 1.37,
    1.47, 1.7,
  ],
};
