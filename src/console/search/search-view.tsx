import type { ComponentChildren } from 'preact';
import { useMemo, useRef, useState } from 'preact/hooks';
import { GloamingError } from '../../clients/typescript/failure.js';
import type { HomologyFilter, HomologyRelease } from '../../clients/typescript/types/homology.js';
import { DomainsButton } from './domains-button.js';
import { estimatedSeconds, searchAndStore } from '../server/results.js';
import { useLoaded } from '../parts/load.js';
import { CopyButton } from '../parts/copy.js';
import { goTo, hrefTo } from '../parts/route.js';
import { ask, gloaming, type Visitor } from '../server/server.js';
import { count, counted, seconds } from '../parts/format.js';
import { Failure } from '../parts/notice.js';
import { readPasted, problemOf } from './fasta.js';
import { clausesOf, filterOf, wordsOf, type Clause } from './filter.js';
import { FilterBuilder } from './filter-builder.js';
import { addressOf, rangeOf, takeDraft, type Draft } from './draft.js';
import { QueryField } from './query-field.js';
import { noteRecent } from './recent.js';
import { RecentList } from './recent-list.js';

interface SearchViewProps {
  readonly visitor: Visitor;
  /** Default releases of the databases, keyed by slug. */
  readonly releases: readonly HomologyRelease[];
}

const LIMITS = [25, 100, 500, 2000, 5000];

/** The search form: queries, database and conditions. */
export function SearchView({ visitor, releases }: SearchViewProps) {
  const draft = useMemo(takeDraft, []);
  const [text, setText] = useState(draft.text);
  const [slug, setSlug] = useState(draft.database ?? releases[0]?.database_slug ?? '');
  const [limit, setLimit] = useState(draft.limit ?? 100);
  const [conditions, setConditions] = useState<Conditions>(() => ({
    ...(clausesOf(draft.filter) ?? { clauses: [], joined: 'and', nested: draft.filter }),
  }));
  const [range, setRange] = useState(() => draft.range ?? '');
  const [failure, setFailure] = useState<Error>();
  const [isBusy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const release = releases.find(({ database_slug: each }) => each === slug) ?? releases[0];
  const propagation = usePropagation(release, draft);
  const records = useMemo(() => readPasted(text), [text]);
  const problem = records.map(problemOf).find((each) => each !== undefined);
  const rangeProblem = rangeProblemOf(range, records);
  const filter = conditions.nested ?? filterOf(conditions.clauses, conditions.joined);
  const faults = useMemo(() => faultsOf(failure, conditions.clauses), [failure]);

  const request = {
    text,
    limit,
    range,
    ...(release && { database: release.database_slug }),
    ...(filter && { filter }),
    ...propagation.draft,
  };
  const isReady = records.length > 0 && problem === undefined && rangeProblem === undefined;
  const fail = (error: Error): void => {
    setFailure(error);
    setBusy(false);
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!isReady || release === undefined) return;
    setBusy(true);
    setFailure(undefined);
    start(request, records.length, release).then(goTo, fail);
  };
  const showExample = (): void => {
    if (release === undefined) return;
    void example(release).then(setText, setFailure);
  };
  const showGuided = (): void => {
    if (release === undefined) return;
    setBusy(true);
    example(release)
      .then((query) => start({ text: query, limit: 100 }, 1, release))
      .then((href) => goTo(`${href}&guide=`), fail);
  };
  return (
    <form class="search" ref={form} onSubmit={submit}>
      <div class="search-main">
        <h1>Find the homologs of a protein</h1>
        <p class="lead muted">
          Including homologs that share only a fold: the search compares the context of each residue, not only
          its letter.
        </p>
        <QueryField
          text={text}
          onText={setText}
          records={records}
          problem={text === '' ? undefined : problem}
          fault={faults.query}
          releaseId={release?.id}
          onExample={showExample}
          onSubmit={() => form.current?.requestSubmit()}
        />
        {text === '' && release !== undefined && (
          <FirstVisit slug={release.database_slug} isBusy={isBusy} onShow={showGuided} />
        )}
        {text === '' && <RecentList />}
      </div>
      <SearchSide
        releases={releases}
        release={release}
        onRelease={setSlug}
        limit={limit}
        onLimit={setLimit}
        conditions={conditions}
        onConditions={setConditions}
        faults={faults.clauses}
        range={range}
        onRange={setRange}
        rangeProblem={rangeProblem}
      >
        {propagation.box}
        <button type="submit" class="button primary" disabled={isBusy || !isReady || release === undefined}>
          {submitLabel(isBusy, records.length)}
        </button>
        <p class="small muted" role="status">
          {release === undefined ? 'No database has been built yet.' : costOf(records, release, visitor)}
        </p>
        {failure !== undefined && <Failure error={failure} />}
        {records.length > 0 && <OtherActions {...{ records, release, filter, visitor, isReady, request }} />}
      </SearchSide>
    </form>
  );
}

/** A box that asks for propagation, and what it adds to a draft; neither where the release cannot be propagated. */
function usePropagation(
  release: HomologyRelease | undefined,
  draft: Draft,
): { readonly box?: ComponentChildren; readonly draft?: Pick<Draft, 'isPropagated'> } {
  const [isPropagated, setPropagated] = useState(draft.isPropagated ?? false);
  const id = release?.id;
  const loaded = useLoaded(
    async (signal) => {
      if (id === undefined) return false;
      const page = `propagated?${new URLSearchParams({ release: id }).toString()}`;
      return (await ask<{ readonly is_propagated: boolean }>('GET', page, undefined, signal)).is_propagated;
    },
    [id],
  );
  if (loaded.state !== 'ready' || !loaded.value) return {};
  const box = (
    <label class="check">
      <input
        type="checkbox"
        checked={isPropagated}
        onChange={({ currentTarget: { checked } }) => setPropagated(checked)}
      />{' '}
      Also by way of neighbours
      <small class="muted">Proteins that only the neighbours of the hits lead to, each with its bridge</small>
    </label>
  );
  return { box, draft: { isPropagated } };
}

interface OtherActionsProps {
  readonly records: ReturnType<typeof readPasted>;
  readonly release: HomologyRelease | undefined;
  readonly filter: HomologyFilter | undefined;
  readonly visitor: Visitor;
  readonly isReady: boolean;
  readonly request: Draft;
}

/** What can be done with the proteins of the form besides searching with them. */
function OtherActions({ records, release, filter, visitor, isReady, request }: OtherActionsProps) {
  return (
    <>
      {isReady && release !== undefined && !visitor.is_open && (
        <DomainsButton records={records} release={release} filter={filter} />
      )}
      <CopyButton label="Copy permalink" text={new URL(addressOf(request), location.href).href} />
    </>
  );
}

interface FirstVisitProps {
  readonly slug: string;
  readonly isBusy: boolean;
  readonly onShow: () => void;
}

function FirstVisit({ slug, isBusy, onShow }: FirstVisitProps) {
  return (
    <section class="first-visit">
      <h2>First time here?</h2>
      <p class="muted">
        Search the database {slug} with one of its own proteins, and have the result explained step by step.
      </p>
      <button type="button" class="button" onClick={onShow} disabled={isBusy}>
        Show me an example
      </button>
    </section>
  );
}

function submitLabel(isBusy: boolean, recordCount: number): string {
  if (isBusy) return 'Searching…';
  return recordCount > 1 ? `Search ${counted(recordCount, 'protein')} in a run` : 'Search';
}

interface Conditions {
  readonly clauses: readonly Clause[];
  readonly joined: 'and' | 'or';
  /** A filter that the lines of the builder cannot show. It is shown in their place. */
  readonly nested?: HomologyFilter | undefined;
}

interface SearchSideProps {
  readonly releases: readonly HomologyRelease[];
  readonly release: HomologyRelease | undefined;
  readonly onRelease: (slug: string) => void;
  readonly limit: number;
  readonly onLimit: (limit: number) => void;
  readonly conditions: Conditions;
  readonly onConditions: (conditions: Conditions) => void;
  readonly faults: ReadonlyMap<number, string>;
  /** Residues that are searched alone, as typed. */
  readonly range: string;
  readonly onRange: (range: string) => void;
  readonly rangeProblem: string | undefined;
  readonly children: ComponentChildren;
}

/** Fields for database, number of hits and conditions. */
function SearchSide(props: SearchSideProps) {
  const { releases, release, onRelease, limit, onLimit, conditions, onConditions, faults, children } = props;
  const { range, onRange, rangeProblem } = props;
  return (
    <div class="search-side">
      <label class="field">
        <span>Database</span>
        <select value={release?.database_slug} onChange={({ currentTarget: { value } }) => onRelease(value)}>
          {releases.map(({ database_slug: each, title }) => (
            <option key={each} value={each}>
              {title === '' ? each : `${each}: ${title}`}
            </option>
          ))}
        </select>
        {release !== undefined && (
          <small class="muted">
            {counted(release.target_count, 'protein')}, {counted(release.residue_count, 'residue')}
          </small>
        )}
      </label>
      <label class="field">
        <span>Hits at most</span>
        <select value={limit} onChange={({ currentTarget: { value } }) => onLimit(Number(value))}>
          {[...new Set([...LIMITS, limit])].map((each) => (
            <option key={each} value={each}>
              {each.toLocaleString('en')}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Residues of the query</span>
        <input
          type="text"
          inputMode="numeric"
          value={range}
          placeholder="all, or a stretch such as 40-180"
          aria-invalid={rangeProblem !== undefined}
          onInput={({ currentTarget: { value } }) => onRange(value)}
        />
        {rangeProblem !== undefined && <small class="field-fault">{rangeProblem}</small>}
      </label>
      <fieldset class="field">
        <legend>Only proteins where</legend>
        {conditions.nested !== undefined && (
          <p>
            {wordsOf(conditions.nested)}{' '}
            <button
              type="button"
              class="button quiet small"
              onClick={() => onConditions({ clauses: [], joined: 'and' })}
            >
              Remove
            </button>
          </p>
        )}
        {release !== undefined && conditions.nested === undefined && (
          <FilterBuilder
            fields={release.filter_fields}
            releaseId={release.id}
            {...conditions}
            onChange={(clauses, joined) => onConditions({ clauses, joined })}
            faults={faults}
          />
        )}
      </fieldset>
      {children}
    </div>
  );
}

/**
 * Starts the search: one protein is searched at once, several become a run.
 * @returns address of the result
 */
async function start(draft: Draft, recordCount: number, release: HomologyRelease): Promise<string> {
  const { id, database_slug: slug } = release;
  const { text, limit = 100, filter, isPropagated = false } = draft;
  const range = rangeOf(draft.range ?? '');
  const settings = {
    database_release_id: id,
    evidence: 'pairwise_sequence_alignment' as const,
    probability: 'if_available' as const,
    alignments: {},
    limit,
    ...(range !== undefined && { query_range: range }),
    ...(filter !== undefined && { filter }),
    ...(isPropagated && { propagation: 'required' as const }),
  };
  const [first] = readPasted(text);
  if (recordCount > 1) {
    const run = await gloaming.submit({
      endpoint: 'homology.batch_search',
      label: `${first.id} and ${count(recordCount - 1)} more`,
      input: { fasta: text, ...settings },
    });
    return hrefTo(['runs', run.id]);
  }
  const query = { kind: 'protein_sequence' as const, sequence: first.sequence };
  const { result } = await searchAndStore({
    id: first.id,
    ...(first.description && { description: first.description }),
    request: { query, ...settings },
  });
  const receiptId = result.receiptId ?? '';
  noteRecent({ receiptId, name: first.id, database: slug, at: new Date().toISOString() });
  return hrefTo(['result', receiptId], { name: first.id, propagation: isPropagated ? '' : undefined });
}

/** Returns what is wrong with the typed residues; undefined if nothing is. */
function rangeProblemOf(text: string, records: ReturnType<typeof readPasted>): string | undefined {
  if (text.trim() === '') return undefined;
  const range = rangeOf(text);
  if (range === undefined) return 'Expected the first and the last residue, such as 40-180.';
  const short = records.find(({ sequence }) => sequence !== '' && sequence.length < range.end);
  return short && `${short.id} has ${counted(short.sequence.length, 'residue')}.`;
}

/** Returns a named protein of common length from the database. Errors  those of the client */
async function example({ id }: HomologyRelease): Promise<string> {
  const query = new URLSearchParams({ release: id });
  const protein = await ask<{ readonly id: string; readonly description: string; readonly sequence: string }>(
    'GET',
    `protein?${query.toString()}`,
  );
  return `>${protein.id} ${protein.description}\n${protein.sequence.replace(/.{1,60}/g, '$&\n')}`;
}

function costOf(
  records: ReturnType<typeof readPasted>,
  release: HomologyRelease,
  { is_open: isOpen }: Visitor,
): string {
  const residues = records.reduce((sum, { sequence }) => sum + sequence.length, 0);
  if (residues === 0) return '';
  if (isOpen && records.length > 1) return 'Several proteins need a run. Sign in to start one.';
  const estimate = estimatedSeconds(release.id, residues, release.residue_count);
  const what =
    records.length > 1
      ? `${counted(records.length, 'protein')}, ${counted(residues, 'residue')}`
      : counted(residues, 'residue');
  return estimate === undefined
    ? what
    : `${what}: about ${seconds(estimate)}, estimated from the last search.`;
}

/** Assigns the errors of the server to the fields that they name. */
function faultsOf(
  failure: Error | undefined,
  clauses: readonly Clause[],
): { readonly query: string | undefined; readonly clauses: ReadonlyMap<number, string> } {
  const places = failure instanceof GloamingError ? failure.places : [];
  const faults = new Map<number, string>();
  for (const { location, message } of places) {
    if (!location.startsWith('body.filter')) continue;
    const position = /filters[[.](\d+)/.exec(location)?.[1];
    const finished = clauses.flatMap(({ value, op }, index) =>
      value.trim() !== '' || /exists|missing/.test(op) ? [index] : [],
    );
    faults.set(finished[Number(position ?? 0)] ?? 0, message);
  }
  const code = failure instanceof GloamingError ? failure.code : '';
  const isQuery = /sequence/.test(code) || places.some(({ location }) => location.startsWith('body.query'));
  return { query: isQuery ? failure?.message : undefined, clauses: faults };
}
