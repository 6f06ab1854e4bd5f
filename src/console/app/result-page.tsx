import { GloamingError } from '../../clients/typescript/failure.js';
import type { HomologyRequest } from '../../clients/typescript/types/homology.js';
import { CodePanel } from '../parts/code-panel.js';
import { useLoaded } from '../parts/load.js';
import { Await } from '../parts/notice.js';
import { quoted, snippetsOf, type SnippetRequest } from '../parts/snippets.js';
import type { ResultSet } from '../result/hits.js';
import { Guide } from '../result/guide.js';
import { ResultView } from '../result/result-view.js';
import { MANUAL_HREF, type Closest, type Neighbourhood, type ResultTools } from '../result/tools.js';
import { addressOf, leaveDraft, rangeText } from '../search/draft.js';
import { wordsOf } from '../search/filter.js';
import { noteRecent } from '../search/recent.js';
import { CopyButton } from '../parts/copy.js';
import { resultOfReceipt, searchAndStore } from '../server/results.js';
import { goTo, hrefTo } from '../parts/route.js';
import { ask, type Visitor } from '../server/server.js';

interface ResultPageProps {
  readonly receiptId: string;
  readonly name: string;
  readonly isGuided: boolean;
  /** Whether the targets that neighbours of the hits lead to are shown, too. */
  readonly isPropagated: boolean;
  readonly visitor: Visitor;
}

/** Shows the result of a receipt. Every visitor with the address and access to the database sees the same result. */
export function ResultPage({ receiptId, name, isGuided, isPropagated, visitor }: ResultPageProps) {
  const loaded = useLoaded(
    (signal) => resultOfReceipt(receiptId, name, isPropagated, signal),
    [receiptId, name, isPropagated],
  );
  return (
    <Await loaded={loaded}>
      {({ result, request }) => (
        <ResultView result={result} tools={toolsFor(result, visitor, request)}>
          {isGuided && <Guide result={result} />}
          {request.filter !== undefined && (
            <p class="small muted">Only proteins where {wordsOf(request.filter)}.</p>
          )}
          <div class="under-head">
            <CodePanel snippets={snippetsOf(snippetRequestOf(request))} />
            <div class="buttons">
              <a class="button quiet small" href={searchAgain(result, request)}>
                Change the search
              </a>
              <CopyButton text={location.href} label="Copy permalink" />
            </div>
          </div>
        </ResultView>
      )}
    </Await>
  );
}

/** Returns the address of the search form, filled in with the query and settings of this result. */
function searchAgain(
  { query, database }: ResultSet,
  { filter, limit, propagation, query_range: range }: HomologyRequest,
): string {
  return addressOf({
    text: `>${query.id}\n${query.sequence}`,
    database: database.slug,
    ...(limit !== undefined && { limit }),
    ...(filter !== undefined && { filter }),
    ...(propagation === 'required' && { isPropagated: true }),
    ...(range !== undefined && { range: rangeText(range) }),
  });
}

/** Actions that need a server: search with a hit, open the alignment, start a run. */
export function toolsFor(result: ResultSet, visitor: Visitor, request?: HomologyRequest): ResultTools {
  const { database, query, receiptId, settings } = result;
  return {
    manualHref: MANUAL_HREF,
    closest: (targetId, signal) =>
      ask<Closest>(
        'POST',
        'closest',
        { database_release_id: database.releaseId, target_id: targetId, sequence: query.sequence },
        signal,
      ),
    neighbourhood: async (id, signal) => {
      const page = new URLSearchParams({ release: database.releaseId, id });
      return ask<Neighbourhood>('GET', `neighbourhood?${page.toString()}`, undefined, signal).catch(
        (error: unknown) => {
          if (error instanceof GloamingError && error.code === 'propagation_unavailable') return undefined;
          throw error;
        },
      );
    },
    searchHref: (id, sequence) => hrefTo(['search'], { id, sequence, database: database.slug }),
    ...(request && { onRange: (range) => void searchStretch(result, request, range) }),
    ...(settings.hasAlignments &&
      receiptId !== undefined && { msaHref: hrefTo(['msa', receiptId], { name: query.id }) }),
    ...(!visitor.is_open && { onRun: (fasta: string) => searchMany(fasta, database.slug) }),
  };
}

/** Searches a stretch of the query of a result with the same settings, and shows its result. */
async function searchStretch(
  { query: { id, description, sequence }, database }: ResultSet,
  { query_range: _, ...request }: HomologyRequest,
  range: { readonly start: number; readonly end: number },
): Promise<void> {
  const isWhole = range.start === 0 && range.end === sequence.length;
  const { result } = await searchAndStore({
    id,
    ...(description !== undefined && { description }),
    request: { ...request, ...(!isWhole && { query_range: range }) },
  });
  const receiptId = result.receiptId ?? '';
  noteRecent({ receiptId, name: id, database: database.slug, at: new Date().toISOString() });
  goTo(hrefTo(['result', receiptId], { name: id }));
}

function searchMany(text: string, database: string): void {
  leaveDraft({ text, database });
  goTo(hrefTo(['search']));
}

/** Returns the request as code. The command line needs no server. */
function snippetRequestOf(request: HomologyRequest): SnippetRequest {
  const { query, database_release_id: releaseId, filter, limit, evidence, propagation } = request;
  const { query_range: range, alignments } = request;
  const flags = [
    ...(releaseId === undefined ? [] : [`--database ${releaseId}`]),
    ...(filter === undefined ? [] : [`--filter ${quoted(JSON.stringify(filter))}`]),
    ...(limit === undefined ? [] : [`--limit ${limit}`]),
    ...(evidence === undefined ? [] : [`--evidence ${evidence}`]),
    ...(propagation === 'required' ? ['--propagation --format tsv'] : []),
    ...(range === undefined ? [] : [`--query-range ${rangeText(range)}`]),
    ...(alignments === undefined ? [] : ['--max-hsps']),
  ];
  return {
    method: 'POST',
    path: '/v1/homology',
    body: request,
    call: [
      `const found = await gloaming.search(${JSON.stringify(request, null, 2)});`,
      'for (const { rank, target, significance } of found.candidates) {',
      "  console.log(rank, target.id, significance.measurements.expected_false_hits ?? '');",
      '}',
    ].join('\n'),
    command: `printf '>query\\n${query.sequence}\\n' | gloaming search - ${flags.join(' ')}`,
  };
}
