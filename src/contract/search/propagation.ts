import { Type, type Static } from '@sinclair/typebox';
import { closed, count, flag, named, quantity, text } from '../grammar/schema.js';

const Bridge = closed({
  target_id: text('Id of the bridge: the protein through which most of the weight reaches the target.'),
  from_query: Type.Optional(
    closed(
      {
        query_start: count('Position of the first aligned query residue.'),
        query_end: count('Position after the last aligned query residue.'),
        bridge_start: count('Position of the first aligned residue of the bridge.'),
        bridge_end: count('Position after the last aligned residue of the bridge.'),
      },
      {
        description:
          'Alignment of query and bridge. Absent if the bridge is not a candidate, because several steps lead to it.',
      },
    ),
  ),
  to_target: closed(
    {
      bridge_start: count('Position of the first aligned residue of the bridge.'),
      bridge_end: count('Position after the last aligned residue of the bridge.'),
      target_start: count('Position of the first aligned target residue.'),
      target_end: count('Position after the last aligned target residue.'),
      log_expected_false_hits: quantity(
        'Natural logarithm of the E-value of the target in a search with the bridge.',
      ),
    },
    { description: 'Alignment of bridge and target, from the graph of neighbours.' },
  ),
});

export const Propagation = named(
  'Propagation',
  closed(
    {
      graph_id: text('Id of the graph of neighbours on which the walk runs.'),
      walks_id: text('Id of the null model of walks that gives the E-values.'),
      hits: Type.Array(
        closed({
          target_id: text('Id of the target in its release.'),
          expected_false_hits: quantity(
            'Expected number of unrelated targets that the walk of one query reaches with at least this weight.',
          ),
          log_expected_false_hits: quantity(
            'Natural logarithm of `expected_false_hits`; it does not underflow.',
          ),
          is_candidate: flag('True when the target is among the candidates of the response.'),
          bridge: Type.Optional(Bridge),
        }),
        { description: 'Targets with an E-value of at most 100, in ascending order of E-value.' },
      ),
    },
    {
      description:
        'Targets that a walk over the graph of neighbours reaches from the hits of the query. The walk gives them ' +
        'E-values of its own. Ranks and significance of the candidates do not depend on it.',
    },
  ),
);

/** Propagated hits of one response. */
export type PresentedPropagation = Static<typeof Propagation>;
