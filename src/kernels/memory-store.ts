import type { KernelBackend, TokenSource, TokenStore } from './kernels.js';

/** Stores of sources in memory. The kernels free a store when it is collected. */
const opened = new WeakMap<TokenSource, WeakMap<KernelBackend, Promise<TokenStore>>>();

/**
 * Opens a small token source that lies in memory, once for each backend. The store lives as long as the source, and its
 * caller does not close it.
 * Errors  those of `KernelBackend.open`; the next call tries again
 */
export function openInMemory(source: TokenSource, backend: KernelBackend): Promise<TokenStore> {
  const stores = opened.get(source) ?? new WeakMap<KernelBackend, Promise<TokenStore>>();
  opened.set(source, stores);
  const cached = stores.get(backend);
  if (cached !== undefined) return cached;
  const store = backend.open(source);
  stores.set(backend, store);
  store.catch(() => stores.delete(backend));
  return store;
}
