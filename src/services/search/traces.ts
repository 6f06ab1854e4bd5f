import type { Provenance } from '../../contract/grammar/envelope.js';
import type { SearchEngine } from '../../search/search-types.js';
import type { Traces } from '../reply.js';
import { releaseSnapshot } from './catalog.js';
import type { ResolvedSearch, SearchWire } from './resolve-search.js';

type Tools = Provenance['tool_versions'];

/** Tools of a search. @param servedBy backend that served instead of the engine's own */
export function toolsOf({ backend, encoder }: SearchEngine, servedBy?: string): Tools {
  const { card, digest, device } = encoder;
  return [
    {
      name: 'gloaming-kernels',
      version: backend.version,
      path: servedBy ?? `${backend.name}:${backend.variant}`,
    },
    { name: `encoder ${card.id}`, version: `sha256:${digest}`, path: device },
    { name: `model of ${card.id}`, version: `sha256:${card.model.sha256}`, path: card.model.file },
  ];
}

/** Parameters and inputs of a search, known before any work. @param named ids that its queries name */
export function searchTraces(
  wire: SearchWire,
  { release, engine, settings }: ResolvedSearch,
  named: readonly string[] = [],
): Traces {
  const { database, database_release_id: releaseId, target_space_id: targetSpaceId } = wire;
  const isNamed = (ref: string | undefined): ref is string => ref !== undefined;
  return {
    databaseSnapshots: [releaseSnapshot(release)],
    inputRefs: [...named, database, releaseId, targetSpaceId].filter(isNamed),
    objectRefs: [release.releaseId, settings.targetSpace.id, engine.calibration?.id].filter(isNamed),
  };
}
