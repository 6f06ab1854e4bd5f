import { useState } from 'preact/hooks';
import { counted, eValue, percent } from '../parts/format.js';
import type { Hit, ResultSet } from './hits.js';
import { MANUAL_HREF } from './tools.js';

interface Step {
  readonly title: string;
  readonly text: string;
  /** Page of the manual, with its section. */
  readonly page?: string;
}

/** Explains the numbers of this result to a first-time visitor. */
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
      <p>
        {step.text} <a href={`${MANUAL_HREF}${step.page ?? 'numbers'}`}>More in the manual</a>
      </p>
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
            page: 'numbers#rank',
            text: `${first.id} is in the database, so its distance is about 0. Rank 2 is the first other protein.`,
          },
        ]
      : []),
    ...(hits.every(({ logE }) => logE === undefined) ? [withoutEValues(database.slug)] : []),
    ...(sure.length > 0 ? [surprising(sure)] : []),
    ...(remote === undefined ? [] : [distant(remote)]),
    ...(doubtful === undefined ? [] : [chance(doubtful)]),
    {
      title: 'Open a row',
      page: 'console#read-a-result',
      text:
        'It shows the alignment and, under "Closest residues", the residue of the protein that each residue of ' +
        'the query is most similar to. Homologs give long runs of parallel links; chance gives a tangle.',
    },
  ];
}

const CONTEXT = 'A protein language model turned each residue of the query, in its context, into a vector';

function everything(targetCount: number): Step {
  return {
    title: 'Everything was compared',
    page: 'numbers#distance',
    text:
      `${CONTEXT}. Each vector was compared with those of all ${counted(targetCount, 'protein')} of the database. ` +
      'No seed, no shortcut: every protein outside the list is farther away than every protein in it.',
  };
}

function sampled(targetCount: number): Step {
  return {
    title: 'Every protein was scanned',
    page: 'evidence#what-do-the-faster-policies-lose',
    text:
      `${CONTEXT}. A prefilter scanned all ${counted(targetCount, 'protein')} of the database, and its best ` +
      'hits were compared in full. Its losses were measured on this database.',
  };
}

function withoutEValues(slug: string): Step {
  return {
    title: 'No E-values yet',
    page: 'operate#no-e-values',
    text:
      'The list is in the order of distance and does not say which proteins are homologs. For E-values, the ' +
      `database must be calibrated on its own proteins, once: "gloaming index calibrate ${slug}" on the server.`,
  };
}

function surprising(sure: readonly Hit[]): Step {
  return {
    title: `${counted(sure.length, 'protein')} beyond chance`,
    page: 'numbers#e-value',
    text:
      'Their E-values are at most 0.001: a thousand such searches find a single unrelated protein with such a ' +
      'score. A darker dot is a smaller E-value.',
  };
}

function distant({ id, alignment, logE = 0 }: Hit): Step {
  const identity = percent(alignment?.sequence_identity_ratio ?? 0);
  return {
    title: 'A homolog beyond sequence identity',
    page: 'numbers#identity',
    text:
      `${id} shares ${identity} of its residues with the query. Sequence searches lose homologs in this twilight ` +
      `zone. Its E-value is still ${eValue(logE)}, because the contexts of the residues agree.`,
  };
}

function chance({ id, logE = 0 }: Hit): Step {
  return {
    title: 'Where chance begins',
    page: 'numbers#e-value',
    text:
      `${id} has an E-value of ${eValue(logE)}: about as many unrelated proteins are expected to score as well. ` +
      'Such hits may be unrelated. The threshold of the score chart hides them.',
  };
}
