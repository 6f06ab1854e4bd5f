import { Type, type Static } from '@sinclair/typebox';
import { RUN_OUTPUT_PATH_MAX_CHARACTERS } from '../../limits.js';
import { fileUrl } from '../storage/files.js';
import { RunFile } from './run-files.js';
import { closed, constant, mutuallyExclusive, named, quantity, sha256, text } from '../grammar/schema.js';
import { MsaId } from '../msa.js';

export const StructureRunInput = named(
  'StructureRunInput',
  closed(
    {
      a3m_object_id: Type.Optional(MsaId),
      a3m_url: Type.Optional(fileUrl('The URL of an uploaded A3M file, as its completion gave it.')),
      folder: Type.Optional(
        text('Folder of the files; those that stand there are replaced. Default: `structures/<run id>`.', {
          minLength: 1,
          maxLength: RUN_OUTPUT_PATH_MAX_CHARACTERS,
        }),
      ),
    },
    {
      description: 'The alignment that the structure is predicted from: `a3m_object_id` or `a3m_url`.',
      ...mutuallyExclusive(['a3m_object_id', 'a3m_url']),
      anyOf: [{ required: ['a3m_object_id'] }, { required: ['a3m_url'] }],
      chosen: true,
    },
  ),
);

export const StructureRunSummary = named(
  'StructureRunSummary',
  closed(
    {
      object: constant('structure_prediction_summary'),
      a3m_sha256: sha256('SHA-256 of the alignment that the predictor was given.'),
      files: Type.Array(RunFile, { description: 'What it wrote, by path.' }),
      log: RunFile,
      predictor_seconds: quantity('How long it took.', { minimum: 0 }),
    },
    { description: "Files of the operator's own predictor, as it wrote them.", chosen: true },
  ),
);

export type StructureRunInput = Static<typeof StructureRunInput>;
export type StructureRunSummary = Static<typeof StructureRunSummary>;
