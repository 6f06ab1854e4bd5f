import { Type, type Static } from '@sinclair/typebox';
import { closed, count, flag, named, quantity, text } from '../grammar/schema.js';

const Bridge = closed({
  target_id: text('Id of the protein from which most weight arrives.'),
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
          'Alignment of query and bridge; absent where several steps lead to the bridge, which is no candidate then.',
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
      graph_id: text('The graph of neighbours that the walk went over.'),
      walks_id: text('The null of walks that judged it.'),
      hits: Type.Array(
        closed({
          target_id: text('Id of the target in its release.'),
          expected_false_hits: quantity(
            'Expected number of unrelated targets that the walk of one query reaches with at least this weight.',
          ),
          log_expected_false_hits: quantity('Its natural logarithm, which does not underflow.'),
          is_candidate: flag('Whether the target is among the candidates of the answer.'),
          bridge: Type.Optional(Bridge),
        }),
        { description: 'Targets with an E-value of at most 100, by E-value, the smallest first.' },
      ),
    },
    {
      description:
        'Targets that a walk from the hits of the query over the graph of neighbours reaches, with E-values of their ' +
        'own. Ranks and significance of the candidates do not depend on it.',
    },
  ),
);

/** Propagated hits of one answer. */
export type PresentedPropagation = Static<typeof Propagation>;
