import { useState } from 'preact/hooks';
import { CopyButton } from './copy.js';

/** The same request as text of several languages. */
export interface Snippet {
  readonly language: string;
  readonly code: string;
}

/** "As code": what the page has just asked, to be pasted into a shell or a program. */
export function CodePanel({ snippets }: { readonly snippets: readonly Snippet[] }) {
  const [language, setLanguage] = useState(snippets[0].language);
  const { code } = snippets.find((each) => each.language === language) ?? snippets[0];
  return (
    <details class="code-panel">
      <summary>As code</summary>
      <div class="code-head">
        <div class="segments" role="group" aria-label="Language">
          {snippets.map((each) => (
            <button
              key={each.language}
              type="button"
              aria-pressed={each.language === language}
              onClick={() => setLanguage(each.language)}
            >
              {each.language}
            </button>
          ))}
        </div>
        <CopyButton text={code} />
      </div>
      <pre tabIndex={0} data-language={language}>
        {code}
      </pre>
    </details>
  );
}
