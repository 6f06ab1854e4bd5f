import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PLACES } from '#src/clients/typescript/types/operations.js';
import { ROOT } from '../../tools/paths.js';

it('the TypeScript client has method and path of every operation of the OpenAPI document', () => {
  const { paths } = JSON.parse(readFileSync(join(ROOT, 'config', 'openapi.json'), 'utf8')) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  };
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId }]) => [
      operationId,
      { method: method.toUpperCase(), path },
    ]),
  );
  const places = Object.entries(PLACES).map(([id, { method, path }]) => [id, { method, path }]);
  expect(Object.fromEntries(places)).toEqual(Object.fromEntries(operations));
});
