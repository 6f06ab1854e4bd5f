/** Agreement of clusters with classes. */
export interface Agreement {
  readonly items: number;
  readonly classes: number;
  readonly families: number;
  /** Adjusted Rand index (Hubert & Arabie 1985). 1 for equal partitions; 0 on average for random ones */
  readonly adjustedRand: number;
  /** Share of items that are of the most frequent class of their cluster. */
  readonly purity: number;
  /** 1 − H(cluster | class) ÷ H(cluster) (Rosenberg & Hirschberg 2007): 1 if each class is in one cluster. */
  readonly completeness: number;
  /** Pairs of one class ÷ pairs of one cluster, and ÷ pairs of one class. */
  readonly pairPrecision: number;
  readonly pairRecall: number;
}

/** Compares two partitions of the same items. @param classes, clusters  labels of each item */
export function agreementOf(classes: readonly string[], clusters: readonly number[]): Agreement {
  const { length: items } = classes;
  const ofClass = new Map<string, number>();
  const ofCluster = new Map<number, Map<string, number>>();
  for (const [at, name] of classes.entries()) {
    ofClass.set(name, (ofClass.get(name) ?? 0) + 1);
    const counts = ofCluster.get(clusters[at]) ?? new Map<string, number>();
    ofCluster.set(clusters[at], counts.set(name, (counts.get(name) ?? 0) + 1));
  }
  let [together, inClusters, pure, conditional, entropy] = [0, 0, 0, 0, 0];
  for (const counts of ofCluster.values()) {
    const size = [...counts.values()].reduce((sum, count) => sum + count, 0);
    inClusters += pairs(size);
    pure += Math.max(...counts.values());
    entropy -= (size / items) * Math.log(size / items);
    for (const [name, count] of counts) {
      together += pairs(count);
      conditional -= (count / items) * Math.log(count / ofClass.get(name)!);
    }
  }
  const inClasses = [...ofClass.values()].reduce((sum, count) => sum + pairs(count), 0);
  const byChance = (inClusters * inClasses) / pairs(items);
  return {
    items,
    classes: ofClass.size,
    families: ofCluster.size,
    adjustedRand: (together - byChance) / ((inClusters + inClasses) / 2 - byChance),
    purity: pure / items,
    completeness: entropy === 0 ? 1 : 1 - conditional / entropy,
    pairPrecision: together / inClusters,
    pairRecall: together / inClasses,
  };
}

function pairs(count: number): number {
  return (count * (count - 1)) / 2;
}
