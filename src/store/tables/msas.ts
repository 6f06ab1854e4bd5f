import {
  MSA_COMPONENTS_MAX_COUNT,
  MSAS_MAX_BYTES,
  MSAS_MAX_COUNT,
  OPEN_MSAS_MAX_BYTES,
  OPEN_MSAS_MAX_COUNT,
  OPEN_ORGANIZATION,
  OPEN_RECEIPTS_MAX_COUNT,
} from '../../limits.js';
import type { OpenContent } from '../objects/contents.js';
import type { ControlStore, Table } from '../control-store.js';
import type { Objects, Received } from '../objects/objects.js';
import { PassingRows } from '../passing-rows.js';
import { Tally } from './tally.js';

/** A value named by the hash of its content. Each organization that made it can read it. */
export interface NamedRow<Content> {
  readonly id: string;
  readonly createdAt: string;
  readonly content: Content;
  readonly organizationIds: readonly string[];
}

/** Content of the row of an alignment. `manifest` describes how it was made. */
interface MsaContent<Manifest> {
  readonly manifest: Manifest;
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Length of the alignment's text as a JSON string. */
  readonly jsonBytes: number;
}

/** The tables `msa-components` and `msas`. */
export interface MsaTables<Component, Manifest> {
  readonly components: NamedTable<Component>;
  readonly msas: MsaTable<Manifest>;
}

interface MsaBounds {
  readonly componentCount: number;
  readonly msaCount: number;
  readonly msaBytes: number;
  /** Share of console visitors without a key. Default: that of OPEN_BOUNDS. */
  readonly open?: Omit<MsaBounds, 'open'>;
}

const OPEN_BOUNDS = {
  componentCount: OPEN_RECEIPTS_MAX_COUNT,
  msaCount: OPEN_MSAS_MAX_COUNT,
  msaBytes: OPEN_MSAS_MAX_BYTES,
};
const BOUNDS: MsaBounds = {
  componentCount: MSA_COMPONENTS_MAX_COUNT,
  msaCount: MSAS_MAX_COUNT,
  msaBytes: MSAS_MAX_BYTES,
};

export function openMsaTables<Component, Manifest>(
  store: ControlStore,
  objects: Objects,
  bounds: MsaBounds = BOUNDS,
): MsaTables<Component, Manifest> {
  return {
    components: new NamedTable<Component>(store, 'msa-components', {
      maxCount: bounds.componentCount,
      passing: new PassingRows({
        organizationId: OPEN_ORGANIZATION,
        maxCount: (bounds.open ?? OPEN_BOUNDS).componentCount,
      }),
    }),
    msas: new MsaTable<Manifest>(store, objects, bounds),
  };
}

type NewRow<Content> = Omit<NamedRow<Content>, 'organizationIds'>;

/** Alignments. Their bytes are objects. */
class MsaTable<Manifest> {
  readonly #objects: Objects;
  readonly #rows: NamedTable<MsaContent<Manifest>>;

  constructor(store: ControlStore, objects: Objects, { msaCount, msaBytes, open = OPEN_BOUNDS }: MsaBounds) {
    this.#objects = objects;
    this.#rows = new NamedTable<MsaContent<Manifest>>(store, 'msas', {
      maxCount: msaCount,
      maxBytes: msaBytes,
      passing: new PassingRows({
        organizationId: OPEN_ORGANIZATION,
        maxCount: open.msaCount,
        maxBytes: open.msaBytes,
      }),
      bytesOf: ({ sizeBytes }) => sizeBytes,
      onAdd: ({ sha256, sizeBytes }) => objects.addReference(sha256, sizeBytes),
      onDrop: ({ sha256 }) => objects.dropReference(sha256),
    });
  }

  get(id: string): NamedRow<MsaContent<Manifest>> | undefined {
    return this.#rows.get(id);
  }

  /** Stores the alignment with its bytes. The received bytes are stored or discarded in any case. */
  async persist(
    row: NewRow<MsaContent<Manifest>>,
    received: Received,
    organizationId: string,
  ): Promise<void> {
    if (this.#rows.get(row.id) !== undefined) {
      await received.discard();
      return this.#rows.persist(row, organizationId);
    }
    const unpin = await received.persist();
    try {
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

interface Bounds<Content> {
  readonly maxCount: number;
  readonly maxBytes?: number;
  readonly passing: PassingRows;
  readonly bytesOf?: (content: Content) => number;
  /** Both run inside the transaction that adds or drops the value. */
  readonly onAdd?: (content: Content) => void;
  readonly onDrop?: (content: Content) => void;
}

/** Values by name. The oldest are deleted when there are too many. */
class NamedTable<Content> {
  readonly #bounds: Bounds<Content>;
  readonly #rows: Table<NamedRow<Content>>;
  /** Keyed by time and id, so that the first key is the oldest value. The entry is the value's size. */
  readonly #byAge: Table<number>;
  readonly #tally: Tally;

  constructor(store: ControlStore, name: string, bounds: Bounds<Content>) {
    this.#bounds = bounds;
    this.#rows = store.table<NamedRow<Content>>(name);
    this.#byAge = store.table<number>(`${name}-by-age`);
    this.#tally = new Tally(store);
    for (const { value } of this.#byAge.getRange()) {
      this.#tally.count += 1;
      this.#tally.bytes += value;
    }
  }

  get(id: string): NamedRow<Content> | undefined {
    return this.#rows.get(id);
  }

  /** Stores a value. A repeated call writes nothing. */
  async persist(row: NewRow<Content>, organizationId: string): Promise<void> {
    if (this.#rows.get(row.id)?.organizationIds.includes(organizationId)) return;
    await this.#tally.transaction(() => {
      const present = this.#rows.get(row.id);
      const organizationIds = [...new Set([...(present?.organizationIds ?? []), organizationId])].sort();
      this.#rows.putSync(row.id, { ...(present ?? row), organizationIds });
      if (present === undefined) this.#add(row, organizationId);
    });
  }

  #add({ id, createdAt, content }: NewRow<Content>, organizationId: string): void {
    const { maxCount, maxBytes = Infinity, onAdd, passing } = this.#bounds;
    const key = `${createdAt} ${id}`;
    this.#byAge.putSync(key, this.#sizeOf(content));
    onAdd?.(content);
    const tally = this.#tally;
    tally.count += 1;
    tally.bytes += this.#sizeOf(content);
    for (const surplus of passing.note(key, organizationId, this.#sizeOf(content))) {
      const present = this.#rows.get(surplus.slice(surplus.indexOf(' ') + 1));
      if (surplus !== key && passing.isAlone(present?.organizationIds ?? [])) this.#drop(surplus);
    }
    while (tally.count > 1 && (tally.count > maxCount || tally.bytes > maxBytes)) this.#dropOldest();
  }

  #dropOldest(): void {
    const limit = Math.max(1, this.#tally.count - this.#bounds.maxCount);
    for (const key of [...this.#byAge.getKeys({ limit })]) this.#drop(key);
  }

  #drop(key: string): void {
    const id = key.slice(key.indexOf(' ') + 1);
    const { content } = this.#rows.get(id) as NamedRow<Content>;
    this.#byAge.removeSync(key);
    this.#rows.removeSync(id);
    this.#bounds.onDrop?.(content);
    this.#tally.count -= 1;
    this.#tally.bytes -= this.#sizeOf(content);
  }

  #sizeOf(content: Content): number {
    return this.#bounds.bytesOf?.(content) ?? 0;
  }
}
