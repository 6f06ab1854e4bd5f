import { ago } from '../parts/format.js';
import { hrefTo } from '../parts/route.js';
import { recentSearches } from './recent.js';

/** Lists the last searches of this browser, with links to their results. */
export function RecentList() {
  const searches = recentSearches();
  if (searches.length === 0) return null;
  return (
    <section class="recent">
      <h2>Recent searches</h2>
      <ul class="plain">
        {searches.map(({ receiptId, name, database, at }) => (
          <li key={receiptId}>
            <a href={hrefTo(['result', receiptId], { name })}>{name}</a>{' '}
            <span class="small muted">
              in {database}, {ago(at)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
