import { Refusal } from '../../errors.js';
import type { InputOptions } from '../../pipelines/input.js';

/** Reads the value of --taxonomy. Errors  Refusal `invalid_option` unless it names two files */
export function readTaxonomyOption(text: string | undefined): Pick<InputOptions, 'taxonomy'> {
  if (text === undefined) return {};
  const [nodes, names, ...rest] = text.split(',');
  if (!nodes || !names || rest.length > 0) {
    throw new Refusal(
      'invalid_option',
      `--taxonomy expects two files, "nodes.dmp,names.dmp"; it is ${text}.`,
    );
  }
  return { taxonomy: { nodes, names } };
}
