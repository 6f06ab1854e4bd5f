import type { ControlRoot } from '../../src/store/migrations.js';
import type { Table } from '../../src/store/control-store.js';

type Rows = Map<string, unknown>;

/** Content of the control store. Only written rows are read again, so that every commit can be checked. */
export class Mirror {
  readonly #databases = new Map<string, Table<unknown>>();
  readonly #tables = new Map<string, Rows>();
  readonly #written = new Map<string, Set<string>>();

  /** Returns the control store with a record of its writes. */
  watch(root: ControlRoot): ControlRoot {
    this.#databases.clear();
    this.#tables.clear();
    this.#written.clear();
    return bound(root, (name, openDB) => {
      if (name !== 'openDB') return undefined;
      return (options: { readonly name: string }) => this.#watched(options.name, openDB(options) as never);
    });
  }

  /** Rows of a table by their keys; empty if no service has opened the table. */
  rows<Row>(table: string): ReadonlyMap<string, Row> {
    const database = this.#databases.get(table);
    if (database === undefined) return new Map();
    const rows =
      this.#tables.get(table) ?? new Map(database.getRange().map(({ key, value }) => [key, value]));
    this.#tables.set(table, rows);
    for (const key of this.#written.get(table) ?? []) {
      const value = database.get(key);
      if (value === undefined) rows.delete(key);
      else rows.set(key, value);
    }
    this.#written.delete(table);
    return rows as ReadonlyMap<string, Row>;
  }

  #watched(table: string, database: Table<unknown>): Table<unknown> {
    this.#databases.set(table, database);
    return bound(database, (name, method) => {
      if (name !== 'putSync' && name !== 'removeSync') return undefined;
      return (...args: readonly unknown[]) => {
        this.#noteWrite(table, args[0] as string);
        return method(...args);
      };
    });
  }

  #noteWrite(table: string, key: string): void {
    const keys = this.#written.get(table) ?? new Set();
    this.#written.set(table, keys.add(key));
  }
}

type Method = (...args: readonly unknown[]) => unknown;

/** Returns the object with the methods that `replace` returns in place of its own. */
export function bound<Target extends object>(
  target: Target,
  replace: (name: string | symbol, method: Method) => unknown,
): Target {
  const methods = new Map<string | symbol, unknown>();
  return new Proxy(target, {
    get: (_, name) => {
      const value: unknown = methods.get(name) ?? Reflect.get(target, name);
      if (typeof value !== 'function' || methods.has(name)) return value;
      const method = (value as Method).bind(target) as Method;
      methods.set(name, replace(name, method) ?? method);
      return methods.get(name);
    },
  });
}
