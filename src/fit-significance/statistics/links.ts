/** Connected components of proteins under links. */
export interface Components {
  /** Merges the components of two proteins. */
  link(a: number, b: number): void;
  readonly isConnected: (a: number, b: number) => boolean;
  /** Returns the number of proteins in the largest component. */
  largest(): number;
}

/**
 * Creates a disjoint-set forest of single proteins.
 * Source  union by size with path halving (Tarjan & van Leeuwen 1984)
 */
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
