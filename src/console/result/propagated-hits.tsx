import { counted, eValue } from '../parts/format.js';
import { PlainTable } from '../parts/plain-table.js';
import { BridgesChart } from './charts/bridges-chart.js';
import type { Propagated, ResultSet } from './hits.js';
import type { ResultTools } from './tools.js';

/** Hits above this E-value are mostly unrelated. Tables and JSON have them up to an E-value of 100. */
const LARGEST_SHOWN_LOG_E = Math.log(10);

interface PropagatedHitsProps {
  readonly result: ResultSet;
  readonly tools: ResultTools;
}

/** Draws and lists the targets with a smaller E-value by way of neighbours, with both alignments of the bridge. */
export function PropagatedHits({ result, tools }: PropagatedHitsProps) {
  const { propagation, hits } = result;
  if (propagation === undefined) return null;
  const direct = new Map(hits.map(({ id, logE }) => [id, logE]));
  const better = propagation.hits.filter(
    ({ target_id: id, log_expected_false_hits: logE }) =>
      logE <= LARGEST_SHOWN_LOG_E && logE < (direct.get(id) ?? Infinity),
  );
  const added = better.filter(({ is_candidate: isCandidate }) => !isCandidate).length;
  return (
    <section class="propagated" aria-label="By way of neighbours">
      <h2>By way of neighbours</h2>
      <p class="small muted">
        {better.length === 0
          ? 'The neighbours of the hits lead to nothing that the direct comparison does not judge as well.'
          : `${counted(better.length, 'protein')} with a smaller E-value by way of neighbours than by direct ` +
            `comparison, ${added === 0 ? 'all' : `${added.toLocaleString('en')} not`} among the hits above. ` +
            'A hit by way of a bridge is weaker evidence: look at both alignments.'}
        {tools.manualHref !== undefined && (
          <>
            {' '}
            <a href={`${tools.manualHref}propagation`}>What this means</a>
          </>
        )}
      </p>
      {better.length > 0 && <BridgesChart result={result} propagated={better} />}
      {better.length > 0 && (
        <PlainTable head={HEAD}>
          {better.map((hit) => (
            <Line key={hit.target_id} hit={hit} directLogE={direct.get(hit.target_id)} />
          ))}
        </PlainTable>
      )}
    </section>
  );
}

const HEAD = ['Protein', 'E-value', 'Direct E-value', 'Bridge', 'Query and bridge', 'Bridge and protein'];

interface LineProps {
  readonly hit: Propagated;
  readonly directLogE: number | undefined;
}

/** Positions are counted from 1 and are those of query and bridge, and of bridge and protein. */
function Line({ hit: { target_id: id, log_expected_false_hits: logE, bridge }, directLogE }: LineProps) {
  const query = bridge?.from_query;
  const target = bridge?.to_target;
  return (
    <tr>
      <td>{id}</td>
      <td class="number">{eValue(logE)}</td>
      <td class="number">{directLogE === undefined ? '' : eValue(directLogE)}</td>
      <td>{bridge?.target_id}</td>
      <td class="number">
        {query === undefined
          ? bridge && 'several steps'
          : `${query.query_start + 1}–${query.query_end}, ${query.bridge_start + 1}–${query.bridge_end}`}
      </td>
      <td class="number">
        {target !== undefined &&
          `${target.bridge_start + 1}–${target.bridge_end}, ${target.target_start + 1}–${target.target_end}; ` +
            `E ${eValue(target.log_expected_false_hits)}`}
      </td>
    </tr>
  );
}
