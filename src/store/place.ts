import { statSync, type Stats } from 'node:fs';
import { storageUnavailable } from './unavailable.js';

/** Checks that the opened files are still at their paths. After a replacement, writes to them would be lost. */
export class Place {
  readonly #identities: ReadonlyMap<string, string>;

  /** @param paths existing files */
  constructor(paths: readonly string[]) {
    this.#identities = new Map(paths.map((path) => [path, identityOf(statSync(path))]));
  }

  /** Message that names the file that was moved or replaced. undefined if all files are at their paths. */
  problem(): string | undefined {
    for (const [path, identity] of this.#identities) {
      const stats = statSync(path, { throwIfNoEntry: false });
      if (stats === undefined) return `${path} is gone`;
      if (identityOf(stats) !== identity) return `another file is at ${path}`;
    }
    return undefined;
  }

  /** Errors  Refusal `storage_unavailable` */
  require(): void {
    const problem = this.problem();
    if (problem !== undefined)
      throw storageUnavailable('The data folder was removed or replaced.', new Error(problem));
  }
}

function identityOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}
