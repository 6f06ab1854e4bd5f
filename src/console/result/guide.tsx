import { useState } from 'preact/hooks';
import { counted, eValue, percent } from '../parts/format.js';
import type { Hit, ResultSet } from './hits.js';

interface Step {
  readonly title: string;
  readonly text: string;
}

/** What the numbers of this very result say, for someone who sees one for the first time. */
export function Guide({ result }: { readonly result: ResultSet }) {
  const [at, setAt] = useState(0);
  const [isShown, setShown] = useState(true);
  const steps = stepsFor(result);
  const step = steps[at];
  if (!isShown || step === undefined) return null;
  return (
    <section class="guide" aria-label="How to read this result">
      <p class="eyebrow">
        How to read this, {at + 1} of {steps.length}
      </p>
      <h2>{step.title}</h2>
      <p>{step.text}</p>
      <div class="buttons">
        <button type="button" class="button" disabled={at === 0} onClick={() => setAt(at - 1)}>
          Back
        </button>
        {at + 1 < steps.length ? (
          <button type="button" class="button primary" onClick={() => setAt(at + 1)}>
            Next
          </button>
        ) : (
          <button type="button" class="button primary" onClick={() => setShown(false)}>
            Done
          </button>
        )}
      </div>
    </section>
  );
}

function stepsFor({ query, hits, database, isExhaustive }: ResultSet): readonly Step[] {
  const [first] = hits;
  const sure = hits.filter(({ logE }) => logE !== undefined && logE <= Math.log(0.001));
  const remote = sure.find(
    ({ alignment }) => alignment !== undefined && alignment.sequence_identity_ratio < 0.295,
  );
  const doubtful = hits.find(({ logE }) => logE !== undefined && logE > 0);
  return [
    isExhaustive === false ? sampled(database.targetCount) : everything(database.targetCount),
    ...(first?.sequence === query.sequence
      ? [
          {
            title: 'The first hit is the query itself',
            text: `${first.id} is in the database, so its distance is about 0. From rank 2 on it gets interesting.`,
          },
        ]
      : []),
    ...(hits.every(({ logE }) => logE === undefined) ? [withoutEValues(database.slug)] : []),
    ...(sure.length > 0 ? [surprising(sure)] : []),
    ...(remote === undefined ? [] : [distant(remote)]),
    ...(doubtful === undefined ? [] : [chance(doubtful)]),
    {
      title: 'Open a row',
      text:
        'It shows the alignment and, under "Closest residues", which residue of the protein each residue of the ' +
        'query found most alike. Relatives give parallel links over long stretches; chance gives a tangle.',
    },
  ];
}

const CONTEXT = 'Each residue of the query was placed in its context by a protein language model';

function everything(targetCount: number): Step {
  return {
    title: 'Everything was compared',
    text:
      `${CONTEXT}, and compared with the residues of all ${counted(targetCount, 'protein')} of the database. ` +
      'No seed, no shortcut: what is not in the list is farther away than all that is.',
  };
}

function sampled(targetCount: number): Step {
  return {
    title: 'Every protein was looked at',
    text:
      `${CONTEXT}. A sample of them was compared with all ${counted(targetCount, 'protein')} of the database, and ` +
      'all of them with those that came near. How little that misses was measured on this very database.',
  };
}

function withoutEValues(slug: string): Step {
  return {
    title: 'No E-values yet',
    text:
      'The list is in the order of distance, and does not say where relatives end and chance begins. For that the ' +
      `database must be calibrated on its own proteins, once: "gloaming index calibrate ${slug}" on the server.`,
  };
}

function surprising(sure: readonly Hit[]): Step {
  return {
    title: `${counted(sure.length, 'protein')} that chance does not explain`,
    text:
      'Their E-values are 0.001 at most: among a thousand such searches one would find a single unrelated protein ' +
      'this good. The darker the dot, the surer.',
  };
}

function distant({ id, alignment, logE = 0 }: Hit): Step {
  const identity = percent(alignment?.sequence_identity_ratio ?? 0);
  return {
    title: 'A relative that letters do not show',
    text:
      `${id} shares ${identity} of its letters with the query, which is in the twilight zone where sequence searches ` +
      `go blind. Its E-value is ${eValue(logE)} all the same: the contexts of the residues agree.`,
  };
}

function chance({ id, logE = 0 }: Hit): Step {
  return {
    title: 'And where chance begins',
    text:
      `${id} has an E-value of ${eValue(logE)}: about so many unrelated proteins are expected to score as well. ` +
      'Near the end of a list nothing is claimed; the threshold of the score chart cuts it where you like.',
  };
}
