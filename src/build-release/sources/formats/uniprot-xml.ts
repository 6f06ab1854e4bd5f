import { SaxesParser, type SaxesTagPlain } from 'saxes';
import { Refusal } from '../../../errors.js';
import { FASTA_LINE_MAX_BYTES, FASTA_SEQUENCE_MAX_BYTES } from '../../../limits.js';
import type { FastaInput, FastaPlace } from '../../../sequence/fasta.js';
import { decompress } from '../../../sequence/input-file.js';
import type { SourceProtein } from '../protein-source.js';
import type { ProteinFormat } from './protein-format.js';
import { CROSS_REFERENCES, createUniprotEntry, UNIPROT_FIELDS, type UniprotEntry } from './uniprot-entry.js';

/**
 * UniProtKB's XML. The parser expands no declared entities and opens no external resources, so a small document cannot
 * use unbounded memory.
 * Source  https://www.uniprot.org/docs/uniprot.xsd
 */
export const UNIPROT_XML: ProteinFormat = {
  name: 'uniprot-xml',
  title: 'UniProt XML',
  isRecognised: (head) => /^\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*<uniprot[\s>]/s.test(head),
  fields: UNIPROT_FIELDS,
  read: readUniprotXml,
};

/** Limit on nesting; the schema has at most 7 levels. */
const MAX_DEPTH = 64;
const EXISTENCE = [
  'evidence at protein level',
  'evidence at transcript level',
  'inferred from homology',
  'predicted',
  'uncertain',
];

async function* readUniprotXml({ file, bytes }: FastaInput): AsyncGenerator<SourceProtein> {
  const proteins: SourceProtein[] = [];
  const handler = createHandler(file, proteins);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const feed = (chunk?: Buffer): void => {
    try {
      const text = decoder.decode(chunk, { stream: chunk !== undefined });
      handler.write(text);
      if (chunk === undefined) handler.close();
    } catch (cause) {
      if (cause instanceof Refusal) throw cause;
      const problem =
        cause instanceof TypeError
          ? 'the text is not UTF-8'
          : (cause as Error).message.replace(/^[\d:]+ |\.$/g, '');
      throw refuseXml(file, handler.line(), problem);
    }
  };
  for await (const chunk of decompress(bytes, () => `${file}, line ${handler.line()}`)) {
    feed(chunk);
    yield* proteins.splice(0);
  }
  feed();
  yield* proteins.splice(0);
  if (handler.records() === 0) throw refuseXml(file, handler.line(), 'there is no entry in it');
}

/** Handles the events of the parser, and adds a protein at the end of its entry. */
function createHandler(file: string, proteins: SourceProtein[]) {
  const parser = new SaxesParser({ xmlns: false, position: true });
  const path: Element[] = [];
  const remarks = createRemarks();
  let [text, records, quietCharacters] = ['', 0, 0];
  let open: { readonly entry: UniprotEntry; readonly place: FastaPlace } | undefined;
  parser.on('opentag', ({ name, attributes }: SaxesTagPlain) => {
    quietCharacters = 0;
    text = '';
    const depth = path.push({ name, attributes, line: parser.line });
    if (depth > MAX_DEPTH) throw refuseXml(file, parser.line, 'elements are nested too deeply');
    if (depth === 1 && name !== 'uniprot') {
      throw refuseXml(file, parser.line, `the document is ${name.slice(0, 40)}, not uniprot`);
    }
    if (depth !== 2 || name !== 'entry') return;
    records += 1;
    open = { entry: createUniprotEntry(), place: { file, line: parser.line, record: records } };
    open.entry.set('reviewed', attributes.dataset === 'Swiss-Prot');
  });
  parser.on('text', (piece) => {
    quietCharacters = 0;
    // Longer than the limit of every stored text, so a stored text of this length is refused later.
    if (text.length <= FASTA_SEQUENCE_MAX_BYTES) text += piece;
  });
  parser.on('closetag', () => {
    quietCharacters = 0;
    if (open !== undefined && path.length === 2) {
      proteins.push(open.entry.protein(open.place));
      open = undefined;
    } else if (open !== undefined) {
      const way = path.slice(2).map(({ name }) => name);
      readElement(way.join('/'), text, path[path.length - 1], open.entry);
    }
    path.pop();
    text = '';
  });
  return {
    write(chunk: string): void {
      // The parser buffers texts and tags until they end, and comments letter by letter, at 32 bytes each.
      quietCharacters += chunk.length;
      for (let at = 0; at < chunk.length; at += STEP_CHARACTERS) {
        const step = chunk.slice(at, at + STEP_CHARACTERS);
        if (remarks.lengthAfter(step) > REMARK_MAX_CHARACTERS) {
          throw refuseXml(
            file,
            parser.line,
            `a comment or instruction is longer than ${REMARK_MAX_CHARACTERS}`,
          );
        }
        parser.write(step);
      }
      if (quietCharacters > FASTA_LINE_MAX_BYTES) {
        throw refuseXml(file, parser.line, `an element is longer than ${FASTA_LINE_MAX_BYTES >> 20} MiB`);
      }
    },
    close: () => parser.close(),
    line: () => parser.line,
    records: () => records,
  };
}

/** Characters that the parser gets at once, and the longest comment, instruction, declaration or CDATA section. */
const STEP_CHARACTERS = 65_536;
const REMARK_MAX_CHARACTERS = 2 * FASTA_SEQUENCE_MAX_BYTES;
const REMARK_ENDS: Readonly<Record<string, string>> = { '<!--': '-->', '<![': ']]>', '<?': '?>', '<!': '>' };

/** Measures comments, instructions, declarations and CDATA sections, of which the parser reports only the end. */
function createRemarks() {
  let end: string | undefined;
  let length = 0;
  /** Last characters of the text before, in which a mark may begin. */
  let rest = '';
  return {
    /** Length of the open remark after these characters; 0 outside. */
    lengthAfter(step: string): number {
      const text = rest + step;
      let at = 0;
      for (;;) {
        if (end === undefined) {
          const start = /<(?:!--|!\[|!(?=[^-[])|\?)/g;
          start.lastIndex = at;
          const tag = start.exec(text);
          if (tag === null) break;
          [at, end, length] = [tag.index + tag[0].length, REMARK_ENDS[tag[0]], 0];
        }
        const close = text.indexOf(end, at);
        if (close === -1) {
          length += text.length - at;
          break;
        }
        [at, end] = [close + end.length, undefined];
      }
      rest = text.slice(Math.max(at, text.length - 3));
      return end === undefined ? 0 : length;
    },
  };
}

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** One-based line of the beginning of the text. */
  readonly line: number;
}

/** Handles the end of an element by its path below the entry. Other elements are ignored. */
function readElement(path: string, text: string, { attributes, line }: Element, entry: UniprotEntry): void {
  switch (path) {
    case 'accession':
      return entry.accession(text.trim());
    case 'name':
      return entry.set('entry_name', text.trim());
    case 'protein/recommendedName/fullName':
    case 'protein/submittedName/fullName':
      return entry.set('name', text.trim());
    case 'gene/name':
      return entry.set('gene', attributes.type === 'synonym' ? '' : text.trim());
    case 'organism/name':
      return entry.set('organism', attributes.type === 'scientific' ? text.trim() : '');
    case 'organism/dbReference':
      return entry.set('taxid', attributes.type === 'NCBI Taxonomy' ? Number(attributes.id) || '' : '');
    case 'dbReference': {
      const list = CROSS_REFERENCES.get(attributes.type ?? '');
      return list === undefined ? undefined : entry.add(list, attributes.id ?? '');
    }
    case 'proteinExistence':
      return entry.set('protein_existence', EXISTENCE.indexOf(attributes.type ?? '') + 1 || '');
    case 'keyword':
      return entry.add('keywords', text.trim());
    case 'sequence':
      return entry.sequence(text, line);
  }
  if (/^protein\/(?:\w+\/)*ecNumber$/.test(path)) entry.add('ec', text.trim());
}

function refuseXml(file: string, line: number, problem: string): Refusal {
  return new Refusal('invalid_input', `${file}, line ${line}: ${problem} (UniProt XML).`, { file, line });
}
