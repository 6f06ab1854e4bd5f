/* JSON Schema of `card.json`; the members are explained at EncoderCard in encoder.ts. */

interface Schema {
  readonly type: string | readonly string[];
  readonly [keyword: string]: unknown;
}

const tokenId = { type: 'integer', minimum: 0, maximum: 1_000_000 };
const tokenIds = { type: 'array', items: tokenId, maxItems: 16 };
const sentence = { type: 'string', minLength: 1, maxLength: 10_000 };
const tensorName = { type: 'string', minLength: 1, maxLength: 256 };
const sha256 = { type: 'string', pattern: '^[0-9a-f]{64}$' };
/** No separators and no leading dot: a name cannot lead out of the encoder's folder. */
const plainFileName = {
  type: 'string',
  pattern: '^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$',
  not: { const: 'card.json' },
};

/** Ids of encoders name their folders. */
export const ENCODER_ID_PATTERN = '^[a-z0-9][a-z0-9._-]{0,63}$';

export const encoderCardSchema = closed(
  {
    id: { type: 'string', pattern: ENCODER_ID_PATTERN },
    name: { type: 'string', minLength: 1, maxLength: 256 },
    description: sentence,
    license: { type: 'string', minLength: 1, maxLength: 1_000 },
    attribution: { type: 'array', items: sentence, maxItems: 64 },
    is_baseline: { type: 'boolean' },
    model: closed({ file: plainFileName, sha256, data: closed({ file: plainFileName, sha256 }) }, ['data']),
    inputs: closed({ ids: tensorName, mask: nullable(tensorName) }),
    output: tensorName,
    tokenizer: closed({
      vocabulary: {
        type: 'object',
        minProperties: 20,
        maxProperties: 26,
        propertyNames: { pattern: '^[A-Z]$' },
        additionalProperties: tokenId,
      },
      unknown: tokenId,
      padding: tokenId,
      prefix: tokenIds,
      suffix: tokenIds,
    }),
    window: nullable(
      closed({
        residues: { type: 'integer', minimum: 16, maximum: 65_535 },
        overlap: { type: 'integer', minimum: 0, maximum: 32_767 },
      }),
    ),
    projection: nullable(
      closed({
        file: plainFileName,
        sha256,
        input_dimension: { type: 'integer', minimum: 1, maximum: 65_536 },
        output_dimension: { type: 'integer', minimum: 1, maximum: 256 },
      }),
    ),
    dimension: { type: 'integer', minimum: 32, maximum: 256 },
    inverse_step: { type: 'number', minimum: 1, maximum: 181 },
    affine: closed(
      {
        multiplier: { type: 'integer', minimum: 1, maximum: 32_767 },
        offset: { type: 'integer', minimum: -16_256, maximum: 32_639 },
        gap_open: { type: 'integer', minimum: 0, maximum: 4_095 },
        gap_extend: { type: 'integer', minimum: 0, maximum: 4_095 },
        blosum62: { type: 'integer', minimum: 1, maximum: 11 },
      },
      ['blosum62'],
    ),
    figures: {},
  },
  ['attribution', 'figures'],
);

/** An object with these members and no others, all required but the optional ones. */
function closed(properties: Readonly<Record<string, object>>, optional: readonly string[] = []): Schema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

function nullable(schema: Schema): Schema {
  return { ...schema, type: [String(schema.type), 'null'] };
}
