import { LRUCache } from 'lru-cache';
import { OPEN_RELEASES_MAX_COUNT } from '../../limits.js';
import { openNames, type NamesIndex } from '../../release/names/names.js';
import { searchNames, type FoundName } from '../../release/names/search.js';
import type { ReleaseManifest } from '../../release/release.js';

export interface TargetReference extends FoundName {
  readonly id: string;
  readonly name: string;
  readonly organism?: string;
}

export interface ReleaseNames {
  readonly releaseId: string;
  readonly manifest: ReleaseManifest;
}

/** Finds targets of releases by their names. */
export interface TargetNames {
  /** undefined where the release has no index of names. Errors  Fault where that cannot be read */
  search(
    release: ReleaseNames,
    query: string,
    limit: number,
  ): Promise<readonly TargetReference[] | undefined>;
  close(): Promise<void>;
}

/** @param directoryOf where a release of the catalog lies */
export function createTargetNames(directoryOf: (releaseId: string) => string): TargetNames {
  const indexes = new LRUCache<string, Promise<NamesIndex>>({
    max: OPEN_RELEASES_MAX_COUNT,
    // One that is being searched still reads; its file is closed when nobody holds it.
    dispose: (index) => void closing.add(index),
  });
  const closing = new Set<Promise<NamesIndex>>();
  let searching = 0;
  const closeUnused = async (): Promise<void> => {
    if (searching > 0) return;
    const unused = [...closing];
    closing.clear();
    for (const index of await Promise.allSettled(unused)) {
      if (index.status === 'fulfilled') await index.value.close();
    }
  };
  const opened = (releaseId: string): Promise<NamesIndex> => {
    const known = indexes.get(releaseId);
    if (known !== undefined) return known;
    const opening = openNames(directoryOf(releaseId));
    indexes.set(releaseId, opening);
    // The next call tries again.
    opening.catch(() => indexes.delete(releaseId));
    return opening;
  };
  return {
    async search({ releaseId, manifest }, query, limit) {
      if (manifest.files.names === undefined) return undefined;
      searching += 1;
      try {
        return (await searchNames(await opened(releaseId), query, limit)).map(present);
      } finally {
        searching -= 1;
        await closeUnused();
      }
    },
    async close() {
      indexes.clear();
      await closeUnused();
    },
  };
}

/** The names in the order of NAME_FIELDS, after the id. */
function present(found: FoundName & { readonly names: readonly string[] }): TargetReference {
  const [id, accession, entryName, gene, name, description, organism] = found.names;
  const label = [name, description, entryName, gene, accession].find((text) => text !== '') ?? id;
  const { match, similarity } = found;
  return { match, similarity, id, name: label, ...(organism !== '' && { organism }) };
}
