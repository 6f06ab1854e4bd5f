import { MSA_COMPONENTS_MAX_COUNT, MSAS_MAX_BYTES, MSAS_MAX_COUNT } from '../../limits.js';
import type { OpenContent } from '../objects/contents.js';
import type { ControlStore } from '../control-store.js';
import type { Objects, Received } from '../objects/objects.js';

/** A value under the name of its content; whoever made it sees it. */
export interface NamedRow<Content> {
  readonly id: string;
  readonly createdAt: string;
  readonly content: Content;
  readonly organizationIds: readonly string[];
}

export interface NamedTable<Content> {
  get(id: string): NamedRow<Content> | undefined;
  /** Repeating it writes nothing; the oldest values go when there are too many. */
  keep(row: Omit<NamedRow<Content>, 'organizationIds'>, organizationId: string): Promise<void>;
}

/** What the store knows of an alignment; `manifest` says how it was made. */
export interface MsaContent<Manifest> {
  readonly manifest: Manifest;
  readonly sha256: string;
  readonly sizeBytes: number;
  /** Length of the same text as a JSON string. */
  readonly jsonBytes: number;
}

/** The tables `msa-components` and `msas`. */
export interface MsaTables<Component, Manifest> {
  readonly components: NamedTable<Component>;
  readonly msas: Pick<NamedTable<MsaContent<Manifest>>, 'get'> & {
    /** Keeps the alignment with its bytes, which are kept or discarded in any case. */
    keep(
      row: Omit<NamedRow<MsaContent<Manifest>>, 'organizationIds'>,
      received: Received,
      organizationId: string,
    ): Promise<void>;
    /** Its bytes, readable to their end whatever becomes of it meanwhile; undefined where it has gone. */
    open(id: string): OpenContent | undefined;
  };
}

export interface MsaBounds {
  readonly componentCount: number;
  readonly msaCount: number;
  readonly msaBytes: number;
}

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
  type Content = MsaContent<Manifest>;
  const msas = namedTable<Content>(store, 'msas', {
    maxCount: bounds.msaCount,
    maxBytes: bounds.msaBytes,
    bytesOf: ({ sizeBytes }) => sizeBytes,
    onAdd: ({ sha256, sizeBytes }) => objects.addReference(sha256, sizeBytes),
    onDrop: ({ sha256 }) => objects.dropReference(sha256),
  });
  return {
    components: namedTable<Component>(store, 'msa-components', { maxCount: bounds.componentCount }),
    msas: {
      get: msas.get,
      async keep(row, received, organizationId) {
        if (msas.get(row.id) !== undefined) {
          await received.discard();
          return msas.keep(row, organizationId);
        }
        const unpin = await received.keep();
        try {
          await msas.keep(row, organizationId);
        } finally {
          unpin();
        }
      },
      open(id) {
        const row = msas.get(id);
        if (row === undefined) return undefined;
        const { sha256, sizeBytes } = row.content;
        const close = objects.pin([sha256]);
        return { bytes: objects.read(sha256, 0, sizeBytes), close };
      },
    },
  };
}

interface Bounds<Content> {
  readonly maxCount: number;
  readonly maxBytes?: number;
  readonly bytesOf?: (content: Content) => number;
  /** Both inside the transaction that adds or drops the value. */
  readonly onAdd?: (content: Content) => void;
  readonly onDrop?: (content: Content) => void;
}

function namedTable<Content>(
  store: ControlStore,
  name: string,
  bounds: Bounds<Content>,
): NamedTable<Content> {
  const { maxCount, maxBytes = Infinity, bytesOf = () => 0, onAdd, onDrop } = bounds;
  const rows = store.table<NamedRow<Content>>(name);
  // Keyed by time and id, so that the first key is the oldest value; the value is its size.
  const byAge = store.table<number>(`${name}-by-age`);
  let count = 0;
  let bytes = 0;
  for (const { value } of byAge.getRange()) {
    count += 1;
    bytes += value;
  }
  const drop = (key: string): void => {
    const id = key.slice(key.indexOf(' ') + 1);
    const { content } = rows.get(id) as NamedRow<Content>;
    byAge.removeSync(key);
    rows.removeSync(id);
    onDrop?.(content);
    count -= 1;
    bytes -= bytesOf(content);
  };
  const dropOldest = (): void => {
    for (const key of [...byAge.getKeys({ limit: Math.max(1, count - maxCount) })]) drop(key);
  };
  return {
    get: (id) => rows.get(id),
    async keep(row, organizationId) {
      if (rows.get(row.id)?.organizationIds.includes(organizationId)) return;
      await store.transaction(() => {
        const present = rows.get(row.id);
        const organizationIds = [...new Set([...(present?.organizationIds ?? []), organizationId])].sort();
        rows.putSync(row.id, { ...(present ?? row), organizationIds });
        if (present !== undefined) return;
        byAge.putSync(`${row.createdAt} ${row.id}`, bytesOf(row.content));
        onAdd?.(row.content);
        count += 1;
        bytes += bytesOf(row.content);
        while (count > 1 && (count > maxCount || bytes > maxBytes)) dropOldest();
      });
    },
  };
}
