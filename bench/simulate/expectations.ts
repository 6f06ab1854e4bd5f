/** Tables whose rows carry the label that their client chose. */
export type Kind = 'runs' | 'uploads' | 'webhook-endpoints' | 'sql-credentials';

/** Something that a client wanted to bring into being. */
export interface Intent {
  readonly kind: Kind;
  /** Nobody else uses it. */
  readonly label: string;
  readonly organizationId: string;
  readonly isKeyed: boolean;
  /** As answers named it. */
  readonly ids: Set<string>;
  /** Its end was asked for, and answered. */
  isRemovalAsked: boolean;
  isRemoved: boolean;
}

interface StoredFile {
  /** undefined while nobody knows whether it is there. */
  bytes?: Uint8Array;
}

interface Searches {
  asked: number;
  answered: number;
  /** When each answer came that may not be on disk yet. */
  fresh: number[];
  mayBeLost: number;
}

/** So long after its answer a direct search is billed at the latest, where the server lives and the disk has room. */
const BILLED_WITHIN_MS = 250;

/** What clients know: what was acknowledged to them must be there, and what they never asked for must not. */
export class Expectations {
  readonly intents = new Map<string, Intent>();
  readonly searches = new Map<string, Searches>();
  readonly #files = new Map<string, Map<string, StoredFile>>();
  readonly #nowMs: () => number;

  constructor(organizations: readonly string[], nowMs: () => number) {
    this.#nowMs = nowMs;
    for (const name of organizations) {
      this.#files.set(name, new Map());
      this.searches.set(name, { asked: 0, answered: 0, fresh: [], mayBeLost: 0 });
    }
  }

  intend(intent: Omit<Intent, 'ids' | 'isRemovalAsked' | 'isRemoved'>): Intent {
    const made: Intent = { ...intent, ids: new Set(), isRemovalAsked: false, isRemoved: false };
    this.intents.set(made.label, made);
    return made;
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

  /** What is known to be there and nobody has asked to end. */
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

  /** A client that asked twice may have been answered first: it is gone whatever was known. */
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
    this.#searchesOf(organizationId).asked += 1;
  }

  searched(organizationId: string): void {
    const searches = this.#searchesOf(organizationId);
    searches.answered += 1;
    searches.fresh.push(this.#nowMs());
  }

  /** The server was killed: answers of a moment ago, or of so long before, need not be billed. */
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
