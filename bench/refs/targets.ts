/* Simulated names of proteins, repeated about as often as in Swiss-Prot: a few model organisms have most entries. */

export interface NamedTarget {
  readonly id: string;
  readonly attributes: Readonly<Record<'entry_name' | 'gene' | 'name' | 'organism', string>>;
}

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ';
const SYLLABLES =
  'al am ba car de do en fer gal hex il ki lac ma nu ol phos qui ri sul ter ur vin xy zo'.split(' ');
const KINDS =
  'kinase synthase reductase transferase hydrolase ligase protease receptor transporter permease factor subunit'.split(
    ' ',
  );
const GENERA = 'Homo Mus Rattus Arabidopsis Saccharomyces Escherichia Bacillus Drosophila Bos Danio'.split(
  ' ',
);

/** Returns the target of a number. Equal numbers give equal targets. */
export function namedTarget(at: number): NamedTarget {
  const id = accessionOf(at);
  const organism = organismOf(at);
  const gene = `${LETTERS[at % 26]}${LETTERS[(at >> 3) % 26]}${LETTERS[(at >> 7) % 26]}${at % 97}`;
  const [genus = '', species = ''] = organism.split(' ');
  const code = (genus.slice(0, 3) + species.slice(0, 2)).toUpperCase();
  return {
    id,
    attributes: {
      entry_name: `${gene}${at % 7}${id.slice(-2)}_${code}`,
      gene,
      name: nameOf(at % 90_000),
      organism,
    },
  };
}

/** Accession in the style of UniProt: letter, digit, three alphanumerics, digit. Every third has the form of ten. */
function accessionOf(at: number): string {
  let rest = at * 48_271 + 11;
  const take = (of: string): string => {
    const letter = of.charAt(rest % of.length);
    rest = Math.floor(rest / of.length);
    return letter;
  };
  const both = `${LETTERS}0123456789`;
  const short = take('OPQ') + take('0123456789') + take(both) + take(both) + take(both) + take('0123456789');
  return at % 3 === 0 ? `A0A${short}${at % 10}` : short;
}

/** Two syllables or more, a kind and a number. */
export function nameOf(at: number): string {
  const word = (seed: number): string =>
    [0, 1, 2]
      .map((place) => SYLLABLES[Math.floor(seed / SYLLABLES.length ** place) % SYLLABLES.length])
      .join('');
  const text = `${word(at)}${at % 2 === 0 ? ` ${word(at * 7 + 3)}` : ''} ${KINDS[at % KINDS.length]} ${1 + (at % 40)}`;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function organismOf(at: number): string {
  const rank = (at * 2_654_435_761) % 1_000;
  if (rank < 700) return `${GENERA[rank % GENERA.length]} ${['sapiens', 'musculus', 'coli'][rank % 3]}`;
  const species = SYLLABLES[rank % SYLLABLES.length];
  return `${SYLLABLES[(at >> 4) % SYLLABLES.length]}${SYLLABLES[at % SYLLABLES.length]}us ${species}ensis`;
}
