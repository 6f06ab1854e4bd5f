import { UPLOAD_MEMORY_MS } from '../../limits.js';
import { pause } from '../../turns.js';
import type { Content, ContentTable } from '../objects/contents.js';
import type { EventRow, EventTable } from '../tables/events.js';
import type { ControlStore, Table } from '../control-store.js';
import type { StorageUsageTable } from './storage-usage.js';

export type AclDecision = 'allow' | 'forbid' | 'hide';

/**
 * Access rights of a file. The first that applies decides: the rule for the key, the rule for its organization, the
 * default.
 */
export interface FileAcl {
  readonly default: AclDecision;
  readonly rules: readonly { readonly principal: string; readonly decision: AclDecision }[];
}

/** The current file at a path of an organization. */
export interface FileRow {
  /** `fil_…`. Stays when the file is replaced, ends with its deletion. */
  readonly id: string;
  readonly organizationId: string;
  /** Normalised; `/` between folders. */
  readonly path: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  /** `ver_…`. Changes each time the file is replaced. */
  readonly version: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly acl: FileAcl;
}

interface NewFile {
  readonly organizationId: string;
  readonly path: string;
  readonly contentType: string;
  readonly content: Content;
  readonly segments: readonly string[];
  readonly at: string;
  /** Rights of a new file. A replaced file keeps its own. */
  readonly acl: FileAcl;
}

interface FilePlace {
  readonly path: string;
  readonly id: string;
}

interface FileTableDependencies {
  readonly contents: ContentTable;
  readonly usage: StorageUsageTable;
  readonly events: EventTable;
}

const SWEEP_MAX_FILES = 64;
/** With 32 webhook endpoints, one transaction writes at most 2,048 deliveries. */
const REMOVED_AT_ONCE_MAX_FILES = 64;

/** The tables `files`, `files-by-path` and `file-event-expiries`. */
export class FileTable {
  readonly #store: ControlStore;
  readonly #contents: ContentTable;
  readonly #usage: StorageUsageTable;
  readonly #events: EventTable;
  readonly #files: Table<FileRow>;
  /** `<organization>/<path>` → id. */
  readonly #byPath: Table<string>;
  /** `<time> <id>` → id. "!" sorts after the ids of a time. */
  readonly #expiries: Table<string>;

  constructor(store: ControlStore, { contents, usage, events }: FileTableDependencies) {
    this.#store = store;
    this.#contents = contents;
    this.#usage = usage;
    this.#events = events;
    this.#files = store.table<FileRow>('files');
    this.#byPath = store.table<string>('files-by-path');
    this.#expiries = store.table<string>('file-event-expiries');
  }

  get(id: string): FileRow | undefined {
    return this.#files.get(id);
  }

  at(organizationId: string, path: string): FileRow | undefined {
    const id = this.#byPath.get(`${organizationId}/${path}`);
    return id === undefined ? undefined : this.#files.get(id);
  }

  /** Paths from this text on with the ids of their files, in order. */
  from(organizationId: string, start: string, limit: number): readonly FilePlace[] {
    const range = { start: `${organizationId}/${start}`, end: `${organizationId}0`, limit };
    return [...this.#byPath.getRange(range)].map(({ key, value: id }) => ({
      path: key.slice(organizationId.length + 1),
      id,
    }));
  }

  /** Path that prevents a file here: a file at the place of a folder, or a folder at the place of the file. */
  obstacle(organizationId: string, path: string): string | undefined {
    const parts = path.split('/');
    for (let depth = 1; depth < parts.length; depth += 1) {
      const above = parts.slice(0, depth).join('/');
      if (this.#byPath.get(`${organizationId}/${above}`) !== undefined) return above;
    }
    const [inside] = this.#byPath.getKeys({ ...rangeBelow(organizationId, path), limit: 1 });
    return inside?.slice(organizationId.length + 1);
  }

  /** Creates or replaces the file at the path, and appends its event. Only inside a transaction. */
  put({ organizationId, path, contentType, content, segments, at: time, acl }: NewFile): FileRow {
    const before = this.at(organizationId, path);
    const file: FileRow = {
      id: before?.id ?? this.#store.world.newId('fil'),
      organizationId,
      path,
      contentType,
      sizeBytes: content.sizeBytes,
      sha256: content.sha256,
      version: this.#store.world.newId('ver'),
      createdAt: before?.createdAt ?? time,
      updatedAt: time,
      acl: before?.acl ?? acl,
    };
    this.#contents.addReference(content, segments);
    if (before !== undefined) this.#contents.dropReference(before.sha256);
    this.#files.putSync(file.id, file);
    this.#byPath.putSync(`${organizationId}/${path}`, file.id);
    this.#usage.add(organizationId, {
      fileBytes: file.sizeBytes - (before?.sizeBytes ?? 0),
      fileCount: before === undefined ? 1 : 0,
    });
    this.#events.append(eventOf(file, 'file.completed', time));
    return file;
  }

  setAcl(id: string, acl: FileAcl): Promise<FileRow | undefined> {
    return this.#store.transaction(() => {
      const file = this.#files.get(id);
      if (file === undefined) return undefined;
      const changed = { ...file, acl };
      this.#files.putSync(id, changed);
      return changed;
    });
  }

  /**
   * Deletes the files at and below the path that `choose` returns, with their events. Each transaction deletes at most
   * REMOVED_AT_ONCE_MAX_FILES, and other work gets the event loop in between. A file that is added meanwhile stays. A
   * crash, or a failure after the first transaction, leaves some of the files deleted. A repeat deletes the rest.
   * @param choose  gets all files in groups before the first deletion, and each group again in its transaction
   * Errors  those of `choose`: before the first deletion, unless the rights of a file change meanwhile; those of a
   *         transaction
   */
  async remove(
    organizationId: string,
    path: string,
    choose: (files: readonly FileRow[]) => readonly FileRow[],
    at: Date,
  ): Promise<readonly FileRow[]> {
    const removed: FileRow[] = [];
    for (const ids of await this.#groupsOf(organizationId, path, choose)) {
      const group = await this.#store.freeing(() => {
        const chosen = choose(this.#present(ids));
        this.#drop(chosen, at);
        return chosen;
      });
      removed.push(...group);
    }
    return removed;
  }

  /** Deletes events of files that were deleted long ago. Returns true if there are more. */
  sweep(now: Date): Promise<boolean> {
    return this.#store.freeing(() => {
      const due = [...this.#expiries.getRange({ end: `${now.toISOString()}!`, limit: SWEEP_MAX_FILES })];
      for (const { key, value: id } of due) {
        this.#expiries.removeSync(key);
        this.#events.drop(id);
      }
      return due.length === SWEEP_MAX_FILES;
    });
  }

  /**
   * Ids of the chosen files at and below the path, in groups for one transaction each. Reads one group a turn of the
   * event loop. Errors  those of `choose`
   */
  async #groupsOf(
    organizationId: string,
    path: string,
    choose: (files: readonly FileRow[]) => readonly FileRow[],
  ): Promise<readonly (readonly string[])[]> {
    const file = this.at(organizationId, path);
    const groups = [file === undefined ? [] : choose([file]).map(({ id }) => id)];
    const { start, end } = rangeBelow(organizationId, path);
    const limit = REMOVED_AT_ONCE_MAX_FILES;
    for (let range = { start, end, limit, exclusiveStart: true }; ;) {
      const places = [...this.#byPath.getRange(range)];
      groups.push(choose(this.#present(places.map(({ value: id }) => id))).map(({ id }) => id));
      const last = places[limit - 1];
      if (last === undefined) return groups.filter((ids) => ids.length > 0);
      range = { ...range, start: last.key };
      await pause();
    }
  }

  /** The files of these ids that are there. */
  #present(ids: readonly string[]): readonly FileRow[] {
    return ids.map((id) => this.#files.get(id)).filter((file) => file !== undefined);
  }

  #drop(rows: readonly FileRow[], at: Date): void {
    const expiry = new Date(at.getTime() + UPLOAD_MEMORY_MS).toISOString();
    for (const row of rows) {
      this.#files.removeSync(row.id);
      this.#byPath.removeSync(`${row.organizationId}/${row.path}`);
      this.#contents.dropReference(row.sha256);
      this.#usage.add(row.organizationId, { fileBytes: -row.sizeBytes, fileCount: -1 });
      this.#expiries.putSync(`${expiry} ${row.id}`, row.id);
    }
    this.#events.append(...rows.map((row) => eventOf(row, 'file.deleted', at.toISOString())));
  }
}

function eventOf(file: FileRow, type: string, timestamp: string): Omit<EventRow, 'id' | 'sequence'> {
  const { id: subjectId, organizationId, path, sizeBytes, sha256, version } = file;
  const data = {
    file_id: subjectId,
    path,
    size_bytes: sizeBytes,
    checksum: sha256,
    storage_version: version,
  };
  return { type, organizationId, subjectId, timestamp, data };
}

/** The character after the slash ends the range of all paths below a folder. */
function rangeBelow(organizationId: string, path: string): { readonly start: string; readonly end: string } {
  return { start: `${organizationId}/${path}/`, end: `${organizationId}/${path}0` };
}
