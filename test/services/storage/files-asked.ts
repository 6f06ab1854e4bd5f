import type { Answer, Json, StorageBench, Who } from './storage-served.js';

/** A response's bytes, with status and headers. */
export interface Read {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Buffer;
}

/** Requests of tests about files, to the server that `bench` returns at each call. */
export interface StorageRequests {
  /** Without `who`, the request has no key. */
  readonly read: (url: string, headers?: Record<string, string>, who?: Who, method?: string) => Promise<Read>;
  readonly sign: (who: Who, url: string, body?: Json) => Promise<Answer>;
  readonly setAcl: (who: Who, url: string, acl: Json) => Promise<Answer>;
  readonly getAcl: (who: Who, url: string) => Promise<Answer>;
  readonly remove: (who: Who, path: string) => Promise<Answer>;
}

export function askFiles(bench: () => StorageBench): StorageRequests {
  const byUrl = (path: string, url: string) => `${path}?url=${encodeURIComponent(url)}`;
  return {
    async read(url, headers = {}, who, method = 'GET') {
      const key: Record<string, string> =
        who === undefined ? {} : { Authorization: `Bearer ${bench().keys[who]}` };
      const response = await fetch(url, { method, headers: { ...key, ...headers } });
      const bytes = Buffer.from(await response.arrayBuffer());
      return { status: response.status, headers: response.headers, bytes };
    },
    sign: (who, url, body) => bench().ask(who, 'POST', byUrl('/v1/storage/file-signed-urls', url), body),
    setAcl: (who, url, acl) => bench().ask(who, 'PUT', byUrl('/v1/storage/files/acl', url), acl),
    getAcl: (who, url) => bench().ask(who, 'GET', byUrl('/v1/storage/files/acl', url)),
    remove: (who, path) => bench().ask(who, 'DELETE', `/v1/storage/files?path=${encodeURIComponent(path)}`),
  };
}

/** The code of a refusal; null of a success. */
export function code(answer: { readonly headers: Headers }): string | null {
  return answer.headers.get('service-error-type');
}
