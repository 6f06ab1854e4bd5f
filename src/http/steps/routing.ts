import Router from '@koa/router';
import { Refusal } from '../../errors.js';
import type { Route } from '../../contract/grammar/route.js';
import { requireForm } from '../request-form.js';
import { decode, readTarget } from '../target.js';
import { internalPages, type InternalPage } from '../pages/internal-pages.js';
import type { Middleware, Shell, ShellContext } from '../shell.js';

type Endpoint = { readonly route: Route } | { readonly page: InternalPage };

/** Where each path leads; also asked by the answers that are written without Koa. */
export interface RouteTable {
  find(
    path: string,
    method: string,
  ): { readonly endpoint: Endpoint; readonly params: Record<string, string> } | undefined;
  /** Methods that the path has; empty where the path does not exist. */
  allowed(path: string): readonly string[];
}

export function createRouteTable(shell: Shell): RouteTable {
  // The router serves as table only: `{id}` of the contract is `:id` here, and paths mean what they spell.
  const router = new Router({ strict: true, sensitive: true });
  const endpoints = new Map<string, Endpoint>();
  const add = (name: string, method: string, path: string, endpoint: Endpoint): void => {
    endpoints.set(name, endpoint);
    router.register(path.replace(/\{(\w+)\}/g, ':$1'), [method.toLowerCase()], () => undefined, { name });
  };
  for (const route of shell.routes) add(route.operationId, route.method, route.path, { route });
  for (const page of internalPages(shell)) add(page.name, 'GET', page.path, { page });
  return {
    find(path, method) {
      const layer = router.match(path, method).pathAndMethod.at(0);
      if (layer?.name === undefined) return undefined;
      const captures = layer.captures(path);
      const params = layer.paramNames.map((key, index) => [key.name, decode(captures[index] ?? '')]);
      return { endpoint: endpoints.get(layer.name) as Endpoint, params: Object.fromEntries(params) };
    },
    allowed(path) {
      const methods = router.match(path, 'OPTIONS').path.flatMap((layer) => layer.methods);
      return methods.length === 0 ? [] : [...new Set([...methods, 'OPTIONS'])].sort();
    },
  };
}

/** Finds the operation. Errors  Refusal `route_not_found`, `method_not_allowed`, and those of the request's form */
export function matchRoute(shell: Shell): Middleware {
  const table = createRouteTable(shell);
  return async (context, next) => {
    requireForm(context.req);
    const target = readTarget(context.req.url ?? '/');
    context.state.query = target.query;
    context.state.repeated = target.repeated;
    const { path } = target;
    const allowed = path === '*' ? ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'POST', 'PUT'] : table.allowed(path);
    if (allowed.length === 0) throw pathRefusal(path);
    if (context.method === 'OPTIONS') return answerOptions(context, allowed);
    const found = table.find(path, context.method);
    if (found === undefined) throw methodRefusal(context.method, allowed);
    context.state.params = found.params;
    if ('page' in found.endpoint) {
      context.state.operation = found.endpoint.page.name;
      return found.endpoint.page.serve(context);
    }
    context.state.route = found.endpoint.route;
    context.state.operation = found.endpoint.route.operationId;
    await next();
  };
}

export function pathRefusal(path: string): Refusal {
  return new Refusal(
    'route_not_found',
    `No route has the path ${shorten(path)}; GET /docs shows those there are.`,
  );
}

export function methodRefusal(method: string, allowed: readonly string[]): Refusal {
  const list = allowed.join(', ');
  return new Refusal(
    'method_not_allowed',
    `${shorten(method)} is not a method of this path; it has ${list}.`,
    {
      allowed_methods: allowed,
    },
  );
}

function answerOptions(context: ShellContext, allowed: readonly string[]): void {
  context.state.operation = 'options';
  context.set('Allow', allowed.join(', '));
  context.status = 204;
}

function shorten(text: string): string {
  return JSON.stringify(text.length > 128 ? `${text.slice(0, 128)}…` : text);
}
