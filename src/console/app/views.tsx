import type { HomologyRelease } from '../../clients/typescript/types/homology.js';
import { DatabasesView } from '../databases/databases-view.js';
import { MsaView } from '../msa/msa-view.js';
import { allOf, useLoaded } from '../parts/load.js';
import { Await } from '../parts/notice.js';
import { RunsView } from '../runs/runs-view.js';
import { draftOf, leaveDraft } from '../search/draft.js';
import { SearchView } from '../search/search-view.js';
import { SystemView } from '../system/system-view.js';
import { ResultPage } from './result-page.js';
import { RunPage } from './run-page.js';
import { noteInAddress, hrefTo, type Route } from '../parts/route.js';
import { gloaming, type Visitor } from '../server/server.js';

/** Renders the view that the route names. */
export function Views({ visitor, route }: { readonly visitor: Visitor; readonly route: Route }) {
  const { view, rest, query } = route;
  const [id] = rest;
  const name = query.get('name') ?? 'query';
  if (view === 'result' && id !== undefined) {
    return (
      <ResultPage
        key={id}
        receiptId={id}
        name={name}
        isGuided={query.get('guide') !== null}
        isPropagated={query.get('propagation') !== null}
        visitor={visitor}
      />
    );
  }
  if (view === 'msa' && id !== undefined) return <MsaView key={id} receiptId={id} name={name} />;
  if (view === 'runs') {
    if (visitor.is_open) return <p class="notice">Sign in to see your runs.</p>;
    return id === undefined ? <RunsView /> : <RunPage key={id} runId={id} query={query} visitor={visitor} />;
  }
  if (view === 'databases') return <DatabasesView selected={id} isOperator={visitor.is_operator} />;
  if (view === 'system' && visitor.is_operator) return <SystemView />;
  return <SearchStart key={query.toString()} visitor={visitor} query={query} />;
}

/** Loads the databases and renders the search form. */
function SearchStart({ visitor, query }: { readonly visitor: Visitor; readonly query: URLSearchParams }) {
  const loaded = useLoaded(defaultReleases, []);
  const draft = draftOf(query);
  if (draft !== undefined) {
    leaveDraft(draft);
    noteInAddress(hrefTo(['search']));
  }
  return <Await loaded={loaded}>{(releases) => <SearchView visitor={visitor} releases={releases} />}</Await>;
}

/** Returns the default release of each database, the default database first. Errors  those of the client */
async function defaultReleases(signal: AbortSignal): Promise<readonly HomologyRelease[]> {
  const databases = await allOf(gloaming.databases({ signal }));
  const ordered = [...databases].sort((a, b) => Number(b.is_default) - Number(a.is_default));
  const releases = await Promise.all(
    ordered.map(async ({ slug, default_release_id: id }) => {
      const all = await allOf(gloaming.releases(slug, { signal }));
      return all.find((each) => each.id === id);
    }),
  );
  return releases.filter((each) => each !== undefined);
}
