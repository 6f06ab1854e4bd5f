import { FILE_PATH_MAX_DEPTH, FILE_PATH_SEGMENT_MAX_BYTES } from '../../limits.js';

/*
 * Pattern of the path of a stored file, for readers of the contract. The storage refuses a violation with its own
 * message. The storage also refuses what a pattern cannot express, because its limits count bytes, not characters.
 */

/**
 * Characters that are forbidden anywhere in a name: separators and look-alikes, control, invisible and private
 * characters.
 */
const FORBIDDEN = [
  '\\u0000-\\u001f/\\\\\\u007f-\\u009f\\u00ad\\u00bc-\\u00be\\u0337\\u0338\\u0600-\\u0605\\u061c\\u06dd\\u070f',
  '\\u0890\\u0891\\u08e2\\u1735\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2044\\u2060-\\u2064\\u2066-\\u206f',
  '\\u20e5\\u20eb\\u2100\\u2101\\u2105\\u2106\\u2150-\\u215f\\u2189\\u2215\\u2216\\u2571\\u2572\\u27cb\\u27cd',
  '\\u29f5\\u29f8\\u29f9\\u2adc\\u33a7\\u33a8\\u33ae\\u33af\\u33c6\\u33de\\u33df\\ud800-\\uf8ff\\ufe68\\ufeff',
  '\\uff0f\\uff3c\\ufff9-\\ufffb',
  // Literal characters, because regular expression engines disagree about escapes beyond U+FFFF.
  ...[
    [0x110bd],
    [0x110cd],
    [0x13430, 0x1343f],
    [0x1bca0, 0x1bca3],
    [0x1d173, 0x1d17a],
    [0x1f67c, 0x1f67d],
    [0xe0001],
    [0xe0020, 0xe007f],
    [0xf0000, 0xffffd],
    [0x100000, 0x10fffd],
  ].map((range) => range.map((point) => String.fromCodePoint(point)).join('-')),
].join('');
const BLANKS = ' \\u00a0\\u1680\\u2000-\\u200a\\u202f\\u205f\\u3000';
/** Dots, and characters that compatibility normalization turns into dots. */
const DOTS = '.\\u2024-\\u2026\\ufe19\\ufe52\\uff0e';

const SEGMENT =
  `(?![${DOTS}]+(?:/|$))` +
  `(?:[^${FORBIDDEN}${BLANKS}][^${FORBIDDEN}]{0,${FILE_PATH_SEGMENT_MAX_BYTES - 2}})?[^${FORBIDDEN}${BLANKS}.]`;
const NO_DRIVE = '(?![A-Za-z\\u212a]:)';
const NO_ESCAPES = '(?!.*%(?:00|2[EeFf]|5[Cc]))';

/** A relative path with "/" between folders. */
export const FILE_PATH_PATTERN = `^${NO_DRIVE}${NO_ESCAPES}${SEGMENT}(?:/${SEGMENT}){0,${FILE_PATH_MAX_DEPTH - 1}}$`;
/** A path of a file, or of a folder with a trailing slash. */
export const FILE_TARGET_PATTERN = FILE_PATH_PATTERN.replace(/\$$/, '/?$');
