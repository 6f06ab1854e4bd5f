/** Text of the contract as HTML: backquotes are code, lines that begin with a dash a list. */
export function markCode(text: string): string {
  const html = escapeHtml(text).replace(/`([^`]+)`/g, '<code>$1</code>');
  return html.replace(/(?:^- .*(?:\n|$))+/gm, (list) => {
    const items = list
      .trim()
      .split('\n')
      .map((line) => `<li>${line.slice(2)}`);
    return `<ul>${items.join('')}</ul>`;
  });
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
