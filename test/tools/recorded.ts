/** A fetch that stores the text of the last response, of which a client returns only parts. */
export function recordedFetch(): { readonly fetch: typeof fetch; last(): string } {
  let text = '';
  return {
    async fetch(url, init) {
      const response = await fetch(url, init);
      text = await response.clone().text();
      return response;
    },
    last: () => text,
  };
}
