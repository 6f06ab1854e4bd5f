import type { HomologyDatabase, HomologyRelease } from '../contract/search/databases.js';
import type { Reference, RefsRequest, RefsResolution } from '../contract/refs.js';
import { Refusal } from '../errors.js';
import { compareFound, judgeNames, type FoundName } from '../release/names/search.js';
import type { FileRow, FileTable } from '../store/storage/files.js';
import type { RunRow, RunTable } from '../store/tables/runs.js';
import { inTurns, mapInTurns, Slice } from '../turns.js';
import type { Catalog } from './search/catalog.js';
import type { RequestContext } from './context.js';
import { requireReadable } from './storage/file-access.js';
import { fileNameOf } from './storage/file-urls.js';
import type { TargetNames } from './targets.js';
import type { Reply } from './reply.js';

interface RefsDependencies {
  readonly catalog: Catalog;
  readonly targetNames: TargetNames;
  /** Whether the release has a target of this id. Needed for releases without an index of names. */
  readonly hasTarget: (releaseId: string, targetId: string) => Promise<boolean>;
  readonly runs: Pick<RunTable, 'get' | 'list'>;
  readonly files: Pick<FileTable, 'get' | 'from'>;
}

/** Bound on runs and files of an organization that are compared with the query. Ids and path prefixes find all. */
const RUNS_MAX_SCANNED = 500;
const FILES_MAX_SCANNED = 4_000;

/** Order of kinds if the query matches several equally well. */
const KINDS: readonly Reference['kind'][] = ['target', 'database', 'release', 'run', 'file'];

/** Finds objects by the names that users know. */
export class Refs {
  readonly #dependencies: RefsDependencies;

  constructor(dependencies: RefsDependencies) {
    this.#dependencies = dependencies;
  }

  async resolve({ query, limit }: RefsRequest, context: RequestContext): Promise<Reply<RefsResolution>> {
    const { catalog, runs, files } = this.#dependencies;
    const { organizationId } = context;
    const databases = catalog.databases(organizationId);
    const releases = databases.flatMap(({ slug }) => catalog.releases(slug, organizationId));
    const targets = await findTargets(query, limit, releases, organizationId, this.#dependencies);
    const references = [
      ...targets.references,
      ...databases.flatMap((row) => findDatabase(query, row)),
      ...releases.flatMap((row) => findRelease(query, row)),
      ...(await findRuns(query, context, runs)),
      ...(await findFiles(query, context, files)),
    ].sort(compare);
    const page = references.slice(0, limit);
    const { unindexed } = targets;
    return {
      value: { object: 'refs_resolution', query, references: page, unindexed_release_ids: unindexed },
      outputRefs: page.map(({ id }) => id),
      rowCount: page.length,
    };
  }

  close(): Promise<void> {
    return this.#dependencies.targetNames.close();
  }
}

async function findTargets(
  query: string,
  limit: number,
  releases: readonly HomologyRelease[],
  organizationId: string,
  { catalog, targetNames, hasTarget }: RefsDependencies,
): Promise<{ readonly references: readonly Reference[]; readonly unindexed: string[] }> {
  const references: Reference[] = [];
  const unindexed: string[] = [];
  for (const { id: releaseId, database_slug } of releases.filter(({ is_default }) => is_default)) {
    const place = { kind: 'target', database_slug, database_release_id: releaseId } as const;
    const targets = await targetNames.search(catalog.release(releaseId, organizationId), query, limit);
    if (targets === undefined) unindexed.push(releaseId);
    for (const { organism, ...target } of targets ?? []) {
      references.push({
        object: 'reference',
        ...place,
        ...target,
        ...(organism && { description: organism }),
      });
    }
    if (targets === undefined && (await hasTarget(releaseId, query))) {
      references.push(...named(query, [query], { ...place, id: query, name: query }));
    }
  }
  return { references, unindexed };
}

function findDatabase(query: string, { id, slug, title }: HomologyDatabase): readonly Reference[] {
  return named(query, [slug, id, title], { kind: 'database', id, name: title, database_slug: slug });
}

function findRelease(query: string, row: HomologyRelease): readonly Reference[] {
  const { id, title, database_slug } = row;
  const names = [id, ...(title === database_slug ? [] : [title])];
  return named(query, names, { kind: 'release', id, name: title, database_slug });
}

async function findRuns(
  query: string,
  { organizationId, signal }: RequestContext,
  runs: RefsDependencies['runs'],
): Promise<readonly Reference[]> {
  const present = ({ id, label, endpoint, status }: RunRow) =>
    named(query, [id, ...(label === undefined ? [] : [label])], {
      kind: 'run',
      id,
      name: label ?? id,
      description: `${endpoint}, ${status}`,
    });
  const exact = runs.get(query);
  if (exact !== undefined) return exact.organizationId === organizationId ? present(exact) : [];
  const newest = await inTurns(runs.list(organizationId, {}, { limit: RUNS_MAX_SCANNED }), signal);
  return (await mapInTurns(newest.runs, present)).flat();
}

async function findFiles(
  query: string,
  context: RequestContext,
  files: RefsDependencies['files'],
): Promise<readonly Reference[]> {
  const { organizationId, signal } = context;
  const exact = files.get(query);
  const references = new Map<string, Reference>();
  const take = (id: string, path: string): void => {
    if (references.has(id)) return;
    const name = fileNameOf(path);
    const described = { kind: 'file', id, name, description: path } as const;
    // Edit distances to all words of a long path would take most of the time, and find files by their folders.
    const [reference] = named(query, [id, path, name], described, [id, name]);
    if (reference !== undefined && isReadable(files.get(id), context)) references.set(id, reference);
  };
  if (exact !== undefined) take(exact.id, exact.path);
  const begun = files.from(organizationId, query, RUNS_MAX_SCANNED);
  const places = [
    ...begun.filter(({ path }) => path.startsWith(query)),
    ...files.from(organizationId, '', FILES_MAX_SCANNED),
  ];
  const slice = new Slice();
  for (const { id, path } of places) {
    take(id, path);
    if (!slice.isOver) continue;
    await slice.pause();
    signal.throwIfAborted();
  }
  return [...references.values()];
}

/** Files that the policy forbids or hides are not listed. */
function isReadable(file: FileRow | undefined, context: RequestContext): boolean {
  if (file === undefined) return false;
  try {
    requireReadable(file, context);
    return true;
  } catch (error) {
    if (error instanceof Refusal) return false;
    throw error;
  }
}

type Described = Omit<Reference, 'object' | keyof FoundName>;

function named(
  query: string,
  names: readonly string[],
  described: Described,
  alikeNames = names,
): readonly Reference[] {
  const match = judgeNames(query, names, alikeNames);
  return match === undefined ? [] : [{ object: 'reference', ...described, ...match }];
}

function compare(a: Reference, b: Reference): number {
  const byKind = KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind);
  if (compareFound(a, b) !== 0 || byKind !== 0) return compareFound(a, b) || byKind;
  const [left, right] = [a, b].map(({ id, database_slug = '' }) => `${id} ${database_slug}`);
  return left < right ? -1 : left > right ? 1 : 0;
}
