import type { ComponentChildren } from 'preact';
import { Menu } from '../parts/menu.js';
import { hrefTo, type Route } from '../parts/route.js';
import type { Visitor } from '../server/server.js';
import { icon } from './sign-in.js';
import { ThemeButton } from './theme.js';

interface ShellProps {
  readonly visitor: Visitor;
  readonly route: Route;
  readonly onSignOut: () => void;
  readonly children: ComponentChildren;
}

const VIEWS: Readonly<Record<string, string>> = { search: 'Search', runs: 'Runs', databases: 'Databases' };
/** Views without a navigation link of their own, with the link that is marked as current for them. */
const UNDER: Readonly<Record<string, string>> = { result: 'search', msa: 'search' };

/** Frame of every view: navigation, theme and sign-out. */
export function Shell({ visitor, route, onSignOut, children }: ShellProps) {
  const views = { ...VIEWS, ...(visitor.is_operator && { system: 'System' }) };
  const current = UNDER[route.view] ?? route.view;
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to content
      </a>
      <header class="top">
        <a class="mark" href={hrefTo(['search'])}>
          <img src={icon()} alt="" width={26} height={26} />
          Gloaming
        </a>
        <nav aria-label="Views">
          {Object.entries(views).map(([view, title]) => (
            <a key={view} href={hrefTo([view])} aria-current={current === view ? 'page' : undefined}>
              {title}
            </a>
          ))}
        </nav>
        <div class="top-end">
          <a class="wide-only" href="../docs/">
            Manual
          </a>
          <ThemeButton />
          {visitor.is_open ? (
            <button type="button" class="button quiet" onClick={onSignOut}>
              Sign in
            </button>
          ) : (
            <Menu label={visitor.name}>
              <p class="small muted">
                {visitor.is_operator ? 'Operator' : 'Signed in'} for {visitor.organization}
              </p>
              <button type="button" class="menu-item" onClick={onSignOut}>
                Sign out
              </button>
            </Menu>
          )}
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        {children}
      </main>
    </>
  );
}

/** Focuses the main element. The browser cannot jump to an anchor, because the URL fragment holds the route. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}
