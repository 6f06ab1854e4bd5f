import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publicRoutes } from '#src/contract/document/manifest.js';
import { KEY_SCOPES, type KeyScope } from '#src/contract/grammar/key-scopes.js';
import { Refusal } from '#src/errors.js';
import { scopeOf } from '#src/http/steps/scopes.js';
import { get, MANIFEST, post, searchBody, serve, type Served } from '../tools/serve.js';

/* Permissions of keys. Each key is named by its scope. */

let served: Served;
beforeAll(async () => {
  served = await serve({
    authenticate(key) {
      const scope = KEY_SCOPES.find((each) => each === key);
      if (scope === undefined) throw new Refusal('invalid_api_key', 'Unknown.');
      return { keyId: 'key_1', organizationId: 'one', scope };
    },
  });
});
afterAll(() => served.close());

describe('the scope of a key', () => {
  it('is defined for every operation, and is the least for operations that only read', () => {
    const needed = new Map(publicRoutes(MANIFEST).map((route) => [route.operationId, scopeOf(route)]));
    const of = (scope: KeyScope): string[] =>
      [...needed].filter(([, each]) => each === scope).map(([operation]) => operation);
    expect(of('submit').sort()).toEqual([
      'runs.cancel',
      'runs.create',
      'storage.file_signed_urls.create',
      'storage.uploads.abort',
      'storage.uploads.complete',
      'storage.uploads.create',
      'storage.uploads.part_urls.create',
      'storage.uploads.parts.acknowledge',
      'storage.uploads.parts.put',
    ]);
    expect(
      of('manage')
        .filter((operation) => !/^(webhooks|sql)/.test(operation))
        .sort(),
    ).toEqual(['storage.files.acl.set', 'storage.files.delete']);
    expect(of('search')).toContain('homology.search');
    expect(of('admin')).toEqual([]);
  });

  it.each([
    ['search', ['search']],
    ['submit', ['search', 'sign']],
    ['manage', ['search', 'sign', 'hooks']],
    ['admin', ['search', 'sign', 'hooks']],
  ])('%s is good for %j, and refused the rest', async (scope, goodFor) => {
    const headers = { authorization: `Bearer ${scope}` };
    const body = JSON.stringify({ url: `/v1/storage/files/fil_${'a'.repeat(24)}/x` });
    const answers = {
      search: await post(served, '/v1/homology', searchBody(), headers),
      sign: await post(served, '/v1/storage/file-signed-urls', body, headers),
      hooks: await get(served, '/v1/webhooks/endpoints', headers),
    };
    const letIn = Object.entries(answers).filter(([, { status }]) => status !== 403 && status !== 401);
    expect(letIn.map(([name]) => name)).toEqual(goodFor);
    expect(answers.search.status).toBe(200);
  });

  it('is named in one sentence if it is too small', async () => {
    const answer = await get(served, '/v1/webhooks/endpoints', { authorization: 'Bearer submit' });
    const { error } = (await answer.json()) as { error: { code: string; message: string } };
    expect([answer.status, error.code, error.message]).toEqual([
      403,
      'permission_denied',
      'The API key has the scope submit, and webhooks.endpoints.list needs one of manage or admin: ' +
        '"gloaming keys create --scope" makes it.',
    ]);
  });
});
