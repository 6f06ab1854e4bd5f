import { LRUCache } from 'lru-cache';
import { OPEN_RELEASES_MAX_COUNT } from '../limits.js';
import { openNames, type NamesIndex } from '../release/names/names.js';
import { searchNames, type FoundName } from '../release/names/search.js';
import type { ReleaseManifest } from '../release/release.js';

interface TargetReference extends FoundName {
  readonly id: string;
  readonly name: string;
  readonly organism?: string;
}

interface ReleaseNames {
  readonly releaseId: string;
  readonly manifest: ReleaseManifest;
}

/** Finds targets of releases by their names. */
export class TargetNames {
  readonly #directoryOf: (releaseId: string) => string;
  readonly #indexes: LRUCache<string, Promise<NamesIndex>>;
  readonly #closing = new Set<Promise<NamesIndex>>();
  #searchingCount = 0;

  /** @param directoryOf directory of a release in the catalog */
  constructor(directoryOf: (releaseId: string) => string) {
    this.#directoryOf = directoryOf;
    this.#indexes = new LRUCache({
      max: OPEN_RELEASES_MAX_COUNT,
      // Running searches still read an evicted index. Its file is closed after the last of them.
      dispose: (index) => void this.#closing.add(index),
    });
  }

  /** undefined if the release has no index of names. Errors  Fault if the index cannot be read */
  async search(
    { releaseId, manifest }: ReleaseNames,
    query: string,
    limit: number,
  ): Promise<readonly TargetReference[] | undefined> {
    if (manifest.files.names === undefined) return undefined;
    this.#searchingCount += 1;
    try {
      return (await searchNames(await this.#open(releaseId), query, limit)).map(present);
    } finally {
      this.#searchingCount -= 1;
      await this.#closeUnused();
    }
  }

  async close(): Promise<void> {
    this.#indexes.clear();
    await this.#closeUnused();
  }

  #open(releaseId: string): Promise<NamesIndex> {
    const cached = this.#indexes.get(releaseId);
    if (cached !== undefined) return cached;
    const opening = openNames(this.#directoryOf(releaseId));
    this.#indexes.set(releaseId, opening);
    // The next call tries again.
    opening.catch(() => this.#indexes.delete(releaseId));
    return opening;
  }

  async #closeUnused(): Promise<void> {
    if (this.#searchingCount > 0) return;
    const unused = [...this.#closing];
    this.#closing.clear();
    for (const index of await Promise.allSettled(unused)) {
      if (index.status === 'fulfilled') await index.value.close();
    }
  }
}

/** The names in the order of NAME_FIELDS, after the id. */
function present(target: FoundName & { readonly names: readonly string[] }): TargetReference {
  const [id, accession, entryName, gene, name, description, organism] = target.names;
  const label = [name, description, entryName, gene, accession].find((text) => text !== '') ?? id;
  const { match, similarity } = target;
  return { match, similarity, id, name: label, ...(organism !== '' && { organism }) };
}
