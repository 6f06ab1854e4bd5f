/** A fetch that keeps the text of the last answer, for what a client leaves out of it. */
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
