import { newId } from '../../ids.js';
import { UPLOAD_MEMORY_MS } from '../../limits.js';
import type { Content, ContentTable } from '../objects/contents.js';
import type { EventTable } from '../tables/events.js';
import type { ControlStore } from '../control-store.js';
import type { StorageUsageTable } from './storage-usage.js';

export type AclDecision = 'allow' | 'forbid' | 'hide';

/** Who may read a file: the first of a rule for the key, a rule for its organization, and the default. */
export interface FileAcl {
  readonly default: AclDecision;
  readonly rules: readonly { readonly principal: string; readonly decision: AclDecision }[];
}

/** The current file at a path of an organization. */
export interface FileRow {
  /** `fil_…`: stays while the file is replaced, ends with its deletion. */
  readonly id: string;
  readonly organizationId: string;
  /** Normalised; `/` between folders. */
  readonly path: string;
  readonly contentType: string;
  readonly sizeBytes: number;
  readonly sha256: string;
  /** `ver_…`: another one each time that the file is replaced. */
  readonly version: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly acl: FileAcl;
}

export interface NewFile {
  readonly organizationId: string;
  readonly path: string;
  readonly contentType: string;
  readonly content: Content;
  readonly segments: readonly string[];
  readonly at: string;
  /** Of a file that is new; one that is replaced keeps its own. */
  readonly acl: FileAcl;
}

export interface FilePlace {
  readonly path: string;
  readonly id: string;
}

/** The tables `files`, `files-by-path` and `file-event-expiries`. */
export interface FileTable {
  get(id: string): FileRow | undefined;
  at(organizationId: string, path: string): FileRow | undefined;
  /** Paths with their files' ids from this text on, in order. */
  from(organizationId: string, start: string, limit: number): readonly FilePlace[];
  /** What keeps a file from standing at this path: a file where a folder is needed, or a folder where the file is. */
  obstacle(organizationId: string, path: string): string | undefined;
  /** Makes or replaces the file at the path, with its event. Only inside a transaction. */
  put(file: NewFile): FileRow;
  setAcl(id: string, acl: FileAcl): Promise<FileRow | undefined>;
  /** Deletes what `choose` returns of the files at the path and below it, with their events, in one transaction. */
  remove(
    organizationId: string,
    path: string,
    choose: (found: readonly FileRow[]) => readonly FileRow[],
    at: Date,
  ): Promise<readonly FileRow[]>;
  /** Forgets the events of files that were deleted long ago; true while there are more. */
  sweep(now: Date): Promise<boolean>;
}

export interface FileTableParts {
  readonly contents: ContentTable;
  readonly usage: StorageUsageTable;
  readonly events: EventTable;
}

const SWEEP_MAX_FILES = 64;

export function fileTable(store: ControlStore, { contents, usage, events }: FileTableParts): FileTable {
  const files = store.table<FileRow>('files');
  /** `<organization>/<path>` → id. */
  const byPath = store.table<string>('files-by-path');
  /** `<time> <id>` → id; "!" ends the ids of a time. */
  const expiries = store.table<string>('file-event-expiries');

  const at = (organizationId: string, path: string): FileRow | undefined => {
    const id = byPath.get(`${organizationId}/${path}`);
    return id === undefined ? undefined : files.get(id);
  };
  // The character behind the slash ends the range of everything below a folder.
  const below = (organizationId: string, path: string) => ({
    start: `${organizationId}/${path}/`,
    end: `${organizationId}/${path}0`,
  });
  const tell = (file: FileRow, type: string, timestamp: string): void => {
    const { id: subjectId, organizationId, path, sizeBytes, sha256, version } = file;
    const data = {
      file_id: subjectId,
      path,
      size_bytes: sizeBytes,
      checksum: sha256,
      storage_version: version,
    };
    events.append({ type, organizationId, subjectId, timestamp, data });
  };

  return {
    get: (id) => files.get(id),
    at,
    from(organizationId, start, limit) {
      const range = { start: `${organizationId}/${start}`, end: `${organizationId}0`, limit };
      return [...byPath.getRange(range)].map(({ key, value: id }) => ({
        path: key.slice(organizationId.length + 1),
        id,
      }));
    },
    obstacle(organizationId, path) {
      const parts = path.split('/');
      for (let depth = 1; depth < parts.length; depth += 1) {
        const above = parts.slice(0, depth).join('/');
        if (byPath.get(`${organizationId}/${above}`) !== undefined) return above;
      }
      const [inside] = byPath.getKeys({ ...below(organizationId, path), limit: 1 });
      return inside?.slice(organizationId.length + 1);
    },
    put({ organizationId, path, contentType, content, segments, at: time, acl }) {
      const before = at(organizationId, path);
      const file: FileRow = {
        id: before?.id ?? newId('fil'),
        organizationId,
        path,
        contentType,
        sizeBytes: content.sizeBytes,
        sha256: content.sha256,
        version: newId('ver'),
        createdAt: before?.createdAt ?? time,
        updatedAt: time,
        acl: before?.acl ?? acl,
      };
      contents.addReference(content, segments);
      if (before !== undefined) contents.dropReference(before.sha256);
      files.putSync(file.id, file);
      byPath.putSync(`${organizationId}/${path}`, file.id);
      usage.add(organizationId, {
        fileBytes: file.sizeBytes - (before?.sizeBytes ?? 0),
        fileCount: before === undefined ? 1 : 0,
      });
      tell(file, 'file.completed', time);
      return file;
    },
    setAcl: (id, acl) =>
      store.transaction(() => {
        const file = files.get(id);
        if (file === undefined) return undefined;
        const changed = { ...file, acl };
        files.putSync(id, changed);
        return changed;
      }),
    remove: (organizationId, path, choose, time) =>
      store.transaction(() => {
        const file = at(organizationId, path);
        const ids = [...byPath.getRange(below(organizationId, path)).map(({ value }) => value)];
        const found = [...(file === undefined ? [] : [file]), ...ids.map((id) => files.get(id) as FileRow)];
        const chosen = choose(found);
        const timestamp = time.toISOString();
        const expiry = new Date(time.getTime() + UPLOAD_MEMORY_MS).toISOString();
        for (const row of chosen) {
          files.removeSync(row.id);
          byPath.removeSync(`${organizationId}/${row.path}`);
          contents.dropReference(row.sha256);
          usage.add(organizationId, { fileBytes: -row.sizeBytes, fileCount: -1 });
          tell(row, 'file.deleted', timestamp);
          expiries.putSync(`${expiry} ${row.id}`, row.id);
        }
        return chosen;
      }),
    sweep: (now) =>
      store.transaction(() => {
        const due = [...expiries.getRange({ end: `${now.toISOString()}!`, limit: SWEEP_MAX_FILES })];
        for (const { key, value: id } of due) {
          expiries.removeSync(key);
          events.drop(id);
        }
        return due.length === SWEEP_MAX_FILES;
      }),
  };
}
