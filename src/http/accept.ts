/** A list element: quoted strings hold commas and semicolons. */
const ELEMENT = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g;
const PARAMETER_UTF_8 = /;[ \t]*charset[ \t]*=[ \t]*(?:utf-?8|"utf-?8")[ \t]*(?=;|$)/gi;

/**
 * Returns an `Accept` header for the negotiation: without empty elements, which count as none, and without
 * `charset=utf-8`. Every text that this server sends is UTF-8, and some libraries name it.
 * Returns undefined if nothing is left, so that every type is acceptable.
 * Source  RFC 9110, sections 5.6.1.2 and 12.5.1; RFC 8259, section 11
 */
export function readAccept(accept: string): string | undefined {
  const elements = (accept.match(ELEMENT) ?? [])
    .map((element) => element.replace(PARAMETER_UTF_8, '').trim())
    .filter((element) => element !== '');
  return elements.length === 0 ? undefined : elements.join(', ');
}
