import type { AffineAlignment, KernelBackend, KernelOptions } from '../../kernels/kernels.js';
import { openInMemory } from '../../kernels/memory-store.js';
import { sourceOf, tokensOfStretch } from '../../kernels/stretch-tokens.js';
import type { Release } from '../../release/release.js';
import { pathParameters, type AlignedProtein } from './affine.js';
import type { Stretches } from './places.js';

/** What paths need of a search engine. */
interface PathEngine {
  readonly release: Pick<Release, 'pathAffine' | 'targets'>;
  readonly backend: KernelBackend;
}

const ONLY_TARGET = Uint32Array.of(0);

/**
 * Aligns stretches of two proteins by the parameters of paths, with the tokens that they have in the whole proteins.
 * Positions are those of the whole proteins.
 * Errors  Fault of the kernels; the signal's reason
 */
export async function pathWithin(
  query: AlignedProtein,
  target: AlignedProtein,
  { queryStart, queryEnd, targetStart, targetEnd }: Stretches,
  { release, backend }: PathEngine,
  options: KernelOptions,
): Promise<AffineAlignment> {
  const sequence = query.sequence.slice(queryStart, queryEnd);
  const part = { sequence, tokens: tokensOfStretch(query.tokens, queryStart, queryEnd) };
  const letters = Buffer.from(target.sequence.slice(targetStart, targetEnd), 'latin1');
  const parameters = pathParameters(release, part, ONLY_TARGET, letters);
  const source = sourceOf(tokensOfStretch(target.tokens, targetStart, targetEnd));
  const store = await openInMemory(source, backend);
  const [path] = await backend.affineAlign(store, part.tokens, ONLY_TARGET, parameters, options);
  return movedBy(path, { queryStart, targetStart });
}

/** Moves a path of stretches to the positions of the whole proteins. */
export function movedBy(
  path: AffineAlignment,
  { queryStart, targetStart }: Pick<Stretches, 'queryStart' | 'targetStart'>,
): AffineAlignment {
  return {
    ...path,
    queryStart: path.queryStart + queryStart,
    queryEnd: path.queryEnd + queryStart,
    targetStart: path.targetStart + targetStart,
    targetEnd: path.targetEnd + targetStart,
  };
}
