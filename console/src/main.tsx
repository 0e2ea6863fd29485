import './zod-without-eval.ts';
import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme, chosenTheme } from './parts/theme.ts';
import './style/index.css';

const TOKEN_KEY = 'posthaste-token';

applyTheme(chosenTheme());
// The user opened a newly printed link in this tab.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#token=')) location.reload();
});
const root = document.getElementById('root');
if (root !== null) render(<App token={takeToken()} />, root);

/**
 * The session token behind the `#` of the printed link, a part that browsers send to no server. It moves to the session
 * storage of this tab, so that reloading works and a copied address does not contain it.
 */
function takeToken(): string | undefined {
  const given = new URLSearchParams(location.hash.replace(/^#/, '')).get('token');
  if (given === null) return sessionStorage.getItem(TOKEN_KEY) ?? undefined;
  sessionStorage.setItem(TOKEN_KEY, given);
  history.replaceState(null, '', `${location.pathname}#/`);
  return given;
}
