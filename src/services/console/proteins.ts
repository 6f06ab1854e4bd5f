import { Refusal } from '../../errors.js';
import type { Release } from '../../release/release.js';

export interface ConsoleProtein {
  readonly id: string;
  /** Empty if the release has none. */
  readonly description: string;
  readonly sequence: string;
}

/** Lengths of a first example, and the bound on proteins inspected for one. */
const EXAMPLE_RESIDUES = [120, 350] as const;
const EXAMPLES_MAX_COUNT = 10_000;

/** Errors  Refusal `validation_failed` if the release has no such protein */
export function proteinOf(release: Release, id: string): ConsoleProtein {
  const target = release.targets.find(id);
  if (target !== undefined) return presented(release, target);
  throw new Refusal('validation_failed', 'The release has no protein of that id.', { param: 'id' });
}

/** @param id id of a good first query; if the release lacks it, the first protein of a common length is taken */
export function exampleProtein(release: Release, id: string): ConsoleProtein {
  const target = release.targets.find(id);
  return presented(release, target ?? exampleOf(release.targets));
}

function presented({ targets }: Release, target: number): ConsoleProtein {
  const name = targets.attribute(target, 'name');
  return {
    id: targets.id(target),
    description: typeof name === 'string' ? name : '',
    sequence: targets.sequence(target),
  };
}

function exampleOf(targets: Release['targets']): number {
  const [least, most] = EXAMPLE_RESIDUES;
  for (let target = 0; target < Math.min(targets.count, EXAMPLES_MAX_COUNT); target += 1) {
    const length = targets.length(target);
    if (length >= least && length <= most) return target;
  }
  return 0;
}
