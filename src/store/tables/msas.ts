import {
  MSA_COMPONENTS_MAX_COUNT,
  MSAS_MAX_BYTES,
  MSAS_MAX_COUNT,
  OPEN_MSAS_MAX_BYTES,
  OPEN_MSAS_MAX_COUNT,
  OPEN_RECEIPTS_MAX_COUNT,
} from '../../limits.js';
import type { OpenContent } from '../objects/contents.js';
import type { ControlStore } from '../control-store.js';
import type { Objects, Received } from '../objects/objects.js';
import { DividedRows, type DividedBounds, type DividedRow, type NewRow } from './divided-rows.js';

interface Named<Content> {
  readonly content: Content;
}

export type NamedRow<Content> = DividedRow & Named<Content>;

/** Content of the row of an alignment. `manifest` describes how it was made. */
interface MsaContent<Manifest> {
  readonly manifest: Manifest;
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Length of the alignment's text as a JSON string. */
  readonly jsonBytes: number;
}

/**
 * The tables `msa-components` and `msas`. At a bound, the organization with the most loses its oldest. A component or
 * alignment that several organizations made counts for each: none gets room because another one made the same, and the
 * eviction of one organization's share leaves it to the others.
 */
export interface MsaTables<Component, Manifest> {
  readonly components: DividedRows<Named<Component>>;
  readonly msas: MsaTable<Manifest>;
}

interface MsaBounds {
  readonly components: DividedBounds;
  readonly msas: DividedBounds;
}

const BOUNDS: MsaBounds = {
  // A component is one aligned protein, whose length is bounded.
  components: {
    maxCount: MSA_COMPONENTS_MAX_COUNT,
    maxBytes: Infinity,
    openMaxCount: OPEN_RECEIPTS_MAX_COUNT,
    openMaxBytes: Infinity,
  },
  msas: {
    maxCount: MSAS_MAX_COUNT,
    maxBytes: MSAS_MAX_BYTES,
    openMaxCount: OPEN_MSAS_MAX_COUNT,
    openMaxBytes: OPEN_MSAS_MAX_BYTES,
  },
};

/** @param bounds those that differ from limits.ts */
export function openMsaTables<Component, Manifest>(
  store: ControlStore,
  objects: Objects,
  bounds: { readonly [Table in keyof MsaBounds]?: Partial<DividedBounds> } = {},
): MsaTables<Component, Manifest> {
  return {
    components: new DividedRows(store, 'msa-components', {
      bounds: { ...BOUNDS.components, ...bounds.components },
      bytesOf: () => 0,
    }),
    msas: new MsaTable<Manifest>(store, objects, { ...BOUNDS.msas, ...bounds.msas }),
  };
}

/** Alignments. Their bytes are objects. */
class MsaTable<Manifest> {
  readonly #objects: Objects;
  readonly #rows: DividedRows<Named<MsaContent<Manifest>>>;

  constructor(store: ControlStore, objects: Objects, bounds: DividedBounds) {
    this.#objects = objects;
    this.#rows = new DividedRows(store, 'msas', {
      bounds,
      bytesOf: ({ content }) => content.sizeBytes,
      onAdd: ({ content }) => objects.addReference(content.sha256, content.sizeBytes),
      onDrop: ({ content }) => objects.dropReference(content.sha256),
    });
  }

  get(id: string): NamedRow<MsaContent<Manifest>> | undefined {
    return this.#rows.get(id);
  }

  /** Stores the alignment with its bytes. The received bytes are stored or discarded in any case. */
  async persist(
    row: NewRow<Named<MsaContent<Manifest>>>,
    received: Received,
    organizationId: string,
  ): Promise<void> {
    const isStored = this.#rows.has(row.id);
    // The pin holds the stored bytes for this row, even if the stored row is evicted meanwhile.
    const unpin = isStored ? this.#objects.pin([row.content.sha256]) : await received.persist();
    try {
      if (isStored) await received.discard();
      await this.#rows.persist(row, organizationId);
    } finally {
      unpin();
    }
  }

  /** Opens its bytes, which stay readable to their end if it is deleted meanwhile. undefined if it was deleted. */
  open(id: string): OpenContent | undefined {
    const row = this.#rows.get(id);
    if (row === undefined) return undefined;
    const { sha256, sizeBytes } = row.content;
    const close = this.#objects.pin([sha256]);
    return { bytes: this.#objects.read(sha256, 0, sizeBytes), close };
  }
}
