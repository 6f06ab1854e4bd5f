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
      a3m_url: Type.Optional(fileUrl('URL of an uploaded A3M file: member `url` of the completed upload.')),
      folder: Type.Optional(
        text(
          'Folder of the output files. Existing files of the same paths are replaced. Default: ' +
            '`structures/<run id>`.',
          {
            minLength: 1,
            maxLength: RUN_OUTPUT_PATH_MAX_CHARACTERS,
          },
        ),
      ),
    },
    {
      description: 'Alignment from which the structure is predicted: either `a3m_object_id` or `a3m_url`.',
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
      a3m_sha256: sha256('SHA-256 of the alignment that the predictor received.'),
      files: Type.Array(RunFile, {
        description: 'Files that the predictor wrote, in ascending order of path.',
      }),
      log: RunFile,
      predictor_seconds: quantity('Run time of the predictor in seconds.', { minimum: 0 }),
    },
    { description: "Output files of the operator's own predictor, unchanged.", chosen: true },
  ),
);

export type StructureRunInput = Static<typeof StructureRunInput>;
export type StructureRunSummary = Static<typeof StructureRunSummary>;
