/** Tables whose rows contain the label that their client chose. */
export type Kind = 'runs' | 'uploads' | 'webhook-endpoints' | 'sql-credentials';

/** An object that a client wants to create. */
export interface Intent {
  readonly kind: Kind;
  /** Unique label. */
  readonly label: string;
  readonly organizationId: string;
  readonly isKeyed: boolean;
  /** Ids in the answers. */
  readonly ids: Set<string>;
  /** True if the client's request to remove the object was answered. */
  isRemovalAsked: boolean;
  isRemoved: boolean;
}

interface StoredFile {
  /** undefined while the state of the file is uncertain. */
  bytes?: Uint8Array;
}

interface Searches {
  sentCount: number;
  answered: number;
  /** Times of answers whose usage may not be on disk yet. */
  fresh: number[];
  mayBeLost: number;
}

/** Time from an answer until its usage is on disk, if the server lives and the disk has room. */
const BILLED_WITHIN_MS = 250;

/** The clients' knowledge. Every acknowledged object must exist, and no unrequested one may. */
export class Expectations {
  readonly intents = new Map<string, Intent>();
  readonly searches = new Map<string, Searches>();
  readonly #files = new Map<string, Map<string, StoredFile>>();
  readonly #nowMs: () => number;

  constructor(organizations: readonly string[], nowMs: () => number) {
    this.#nowMs = nowMs;
    for (const name of organizations) {
      this.#files.set(name, new Map());
      this.searches.set(name, { sentCount: 0, answered: 0, fresh: [], mayBeLost: 0 });
    }
  }

  intend(intent: Omit<Intent, 'ids' | 'isRemovalAsked' | 'isRemoved'>): Intent {
    const added: Intent = { ...intent, ids: new Set(), isRemovalAsked: false, isRemoved: false };
    this.intents.set(added.label, added);
    return added;
  }

  acknowledged(intent: Intent, id: string): void {
    intent.ids.add(id);
  }

  removing(intent: Intent): void {
    intent.isRemovalAsked = true;
  }

  removed(intent: Intent): void {
    intent.isRemoved = true;
  }

  /** Returns the objects that certainly exist and whose removal no client has requested. */
  living(kind: Kind, organizationId: string): readonly Intent[] {
    return [...this.intents.values()].filter(
      (intent) =>
        intent.kind === kind &&
        intent.organizationId === organizationId &&
        intent.ids.size > 0 &&
        !intent.isRemovalAsked,
    );
  }

  stored(organizationId: string, path: string, bytes: Uint8Array): void {
    this.#filesOf(organizationId).set(path, { bytes });
  }

  deleting(organizationId: string, path: string): void {
    this.#filesOf(organizationId).set(path, {});
  }

  /**
   * Records a deletion. The file is gone even if its state was uncertain, because a retry may be answered before the
   * first try.
   */
  deleted(organizationId: string, path: string): void {
    this.#filesOf(organizationId).delete(path);
  }

  filesOf(organizationId: string): readonly string[] {
    return [...this.#filesOf(organizationId)]
      .filter(([, { bytes }]) => bytes !== undefined)
      .map(([path]) => path);
  }

  bytesOf(organizationId: string, path: string): Uint8Array | undefined {
    return this.#filesOf(organizationId).get(path)?.bytes;
  }

  searching(organizationId: string): void {
    this.#searchesOf(organizationId).sentCount += 1;
  }

  searched(organizationId: string): void {
    const searches = this.#searchesOf(organizationId);
    searches.answered += 1;
    searches.fresh.push(this.#nowMs());
  }

  /** Records a kill: the usage of recent answers may be lost. `ms` extends the time before the kill. */
  forgive(ms: number): void {
    const before = this.#nowMs() - BILLED_WITHIN_MS - ms;
    for (const searches of this.searches.values()) {
      searches.mayBeLost += searches.fresh.filter((atMs) => atMs >= before).length;
      searches.fresh = [];
    }
  }

  #searchesOf(organizationId: string): Searches {
    return this.searches.get(organizationId) as Searches;
  }

  #filesOf(organizationId: string): Map<string, StoredFile> {
    return this.#files.get(organizationId) as Map<string, StoredFile>;
  }
}
