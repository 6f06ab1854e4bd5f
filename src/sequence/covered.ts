/** Number of residues that half-open ranges cover together, where each residue counts once. */
export function coveredResidues(ranges: readonly (readonly [start: number, end: number])[]): number {
  let covered = 0;
  let reached = 0;
  for (const [start, end] of [...ranges].sort(([left], [right]) => left - right)) {
    covered += Math.max(0, end - Math.max(start, reached));
    reached = Math.max(reached, end);
  }
  return covered;
}
