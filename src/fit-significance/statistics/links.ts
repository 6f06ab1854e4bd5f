/** Groups of proteins that evident relatives connect, directly or through others. */
export interface Components {
  /** Joins the groups of two proteins. */
  link(a: number, b: number): void;
  readonly isConnected: (a: number, b: number) => boolean;
  /** Proteins in the largest group. */
  largest(): number;
}

/** Source: union by size with path halving (Tarjan & van Leeuwen 1984). */
export function createComponents(count: number): Components {
  const parents = Uint32Array.from({ length: count }, (_, index) => index);
  const sizes = new Uint32Array(count).fill(1);
  const rootOf = (index: number): number => {
    let at = index;
    while (parents[at] !== at) {
      parents[at] = parents[parents[at]];
      at = parents[at];
    }
    return at;
  };
  return {
    link(a, b) {
      const [left, right] = [rootOf(a), rootOf(b)];
      if (left === right) return;
      const [small, large] = sizes[left] < sizes[right] ? [left, right] : [right, left];
      parents[small] = large;
      sizes[large] += sizes[small];
    },
    isConnected: (a, b) => rootOf(a) === rootOf(b),
    largest: () =>
      sizes.reduce((most, size, index) => (parents[index] === index ? Math.max(most, size) : most), 0),
  };
}
