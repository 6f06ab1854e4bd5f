import { useMemo, useState } from 'preact/hooks';
import type { ProteinAnnotation, Run } from '../../clients/typescript/types/runs.js';
import { download } from '../parts/download.js';
import { count, counted } from '../parts/format.js';
import { Failure } from '../parts/notice.js';
import { VirtualList } from '../parts/virtual-list.js';
import { isOver } from '../runs/run-state.js';
import { useStreamedRows } from '../runs/streamed-rows.js';
import {
  domainsTsv,
  domainWords,
  familyCounts,
  matches,
  type AnnotatedDomain,
  type FamilyCount,
} from './annotation.js';
import { Architecture, type ArchitectureProps } from './architecture.js';

/** Largest number of domains and proteins that the page holds. */
const ITEMS_MAX_COUNT = 200_000;
const LISTED_FAMILIES = 40;
const ROW_HEIGHT = 44;

/** Shows the proteins of a run that annotates: the domains along each, and the most frequent families. */
export function AnnotationResults({ run }: { readonly run: Run }) {
  const { rows, isFull, error } = useStreamedRows<ProteinAnnotation>(
    run,
    ({ domains }) => domains.length + 1,
    ITEMS_MAX_COUNT,
  );
  const [familyId, setFamilyId] = useState<string>();
  const [text, setText] = useState('');
  const [isWithoutShown, setWithoutShown] = useState(false);
  const [domain, setDomain] = useState<AnnotatedDomain>();
  const families = useMemo(() => familyCounts(rows), [rows]);
  const words = text.trim().toLowerCase();
  const listed = useMemo(
    () => rows.filter((row) => (isWithoutShown || row.domains.length > 0) && matches(row, familyId, words)),
    [rows, familyId, words, isWithoutShown],
  );
  const scale = useMemo(() => listed.reduce((most, { length }) => Math.max(most, length), 1), [listed]);
  if (error !== undefined) return <Failure error={error} />;
  if (rows.length === 0) return isOver(run) ? <p class="muted">No protein was finished.</p> : null;
  const annotated = rows.filter(({ domains }) => domains.length > 0).length;
  const toggle = (id: string): void => setFamilyId((before) => (before === id ? undefined : id));
  return (
    <>
      <p class="lead">
        {count(annotated)} of {counted(rows.length, 'protein')} {annotated === 1 ? 'has' : 'have'} a domain,
        of {families.length === 1 ? '1 family' : `${count(families.length)} families`}.
      </p>
      {isFull && (
        <p class="notice" role="status">
          This page shows the first {counted(rows.length, 'protein')}. To get all of them:{' '}
          <code>gloaming runs results {run.id}</code>
        </p>
      )}
      <div class="batch">
        <FamilyList families={families} chosenId={familyId} onToggle={toggle} />
        <section aria-label="Proteins">
          <div class="actions">
            <input
              type="search"
              aria-label="Find a protein or a family"
              placeholder="protein or family"
              value={text}
              onInput={({ currentTarget: { value } }) => setText(value)}
            />
            <label class="small">
              <input
                type="checkbox"
                checked={isWithoutShown}
                onChange={({ currentTarget: { checked } }) => setWithoutShown(checked)}
              />{' '}
              also those without a domain
            </label>
            <button
              type="button"
              class="button"
              onClick={() => download('domains.tsv', domainsTsv(listed), 'text/tab-separated-values')}
            >
              Download TSV
            </button>
          </div>
          <p class="domain-line small" role="status">
            {domain === undefined ? (
              <span class="muted">
                {counted(listed.length, 'protein')}, drawn to scale. Point at a domain, or go to it by Tab and
                the arrow keys.
              </span>
            ) : (
              domainWords(domain)
            )}
          </p>
          <div role="table" aria-label="Domains along the proteins">
            <VirtualList
              rowCount={listed.length}
              rowHeight={ROW_HEIGHT}
              openRow={-1}
              openContent={null}
              label="Proteins"
              renderRow={(at, top) => (
                <ProteinRow
                  key={listed[at].query_index}
                  protein={listed[at]}
                  top={top}
                  scale={scale}
                  familyId={familyId}
                  onShow={setDomain}
                  onChoose={({ family }) => toggle(family.id)}
                />
              )}
            />
          </div>
        </section>
      </div>
    </>
  );
}

interface FamilyListProps {
  readonly families: readonly FamilyCount[];
  readonly chosenId: string | undefined;
  readonly onToggle: (id: string) => void;
}

function FamilyList({ families, chosenId, onToggle }: FamilyListProps) {
  return (
    <nav class="queries" aria-label="Families">
      <h2 class="small">Most frequent families</h2>
      <ul>
        {families.slice(0, LISTED_FAMILIES).map(({ id, name, description, proteins }) => (
          <li key={id}>
            <button
              type="button"
              aria-pressed={chosenId === id}
              title={description}
              onClick={() => onToggle(id)}
            >
              <span class="clip">{name}</span>
              <span class="small muted">{count(proteins)}</span>
            </button>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** One protein of the list. @param top  distance from the top of the list, in pixels */
function ProteinRow({ top, ...drawn }: ArchitectureProps & { readonly top: number }) {
  const { query_id: id, length } = drawn.protein;
  return (
    <div class="annotated" role="row" style={{ top: `${top}px` }}>
      <span role="cell" class="clip" title={id}>
        {id}
      </span>
      <div role="cell">
        <Architecture {...drawn} />
      </div>
      <span role="cell" class="small muted">
        {count(length)}
      </span>
    </div>
  );
}
