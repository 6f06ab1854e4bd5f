import { assert } from '../../errors.js';
import type { Route } from '../grammar/route.js';
import { ROUTES, type OperationId } from './routes.js';

/** Content of `config/public-routes.json`: ids of the public operations. */
export interface PublicRouteManifest {
  readonly routes: readonly string[];
}

/**
 * Returns the public routes, in the order of the contract.
 * Errors  an assertion for an id that the contract lacks or that is listed twice
 */
export function publicRoutes(manifest: PublicRouteManifest): readonly Route[] {
  for (const id of manifest.routes) {
    assert(Object.hasOwn(ROUTES, id), `the public route "${id}" must be declared in src/contract`);
  }
  const listed = new Set(manifest.routes);
  assert(listed.size === manifest.routes.length, 'each public route is listed once');
  return Object.entries(ROUTES)
    .filter(([id]) => listed.has(id as OperationId))
    .map(([, route]) => route);
}
