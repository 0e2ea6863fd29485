import './zod-without-eval.ts';
import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme, chosenTheme } from './parts/theme.ts';
import './style/index.css';

const TOKEN_KEY = 'posthaste-token';

applyTheme(chosenTheme());
// Another link that the command printed, opened in this tab.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#token=')) location.reload();
});
const root = document.getElementById('root');
if (root !== null) render(<App token={takeToken()} />, root);

/**
 * The token that the command put behind the `#` of the link it opened, which no server and no log sees. It is kept for
 * this tab, so that reloading works, and taken off the address, so that a copied address does not hold it.
 */
function takeToken(): string | undefined {
  const given = new URLSearchParams(location.hash.replace(/^#/, '')).get('token');
  if (given === null) return sessionStorage.getItem(TOKEN_KEY) ?? undefined;
  sessionStorage.setItem(TOKEN_KEY, given);
  history.replaceState(null, '', `${location.pathname}#/`);
  return given;
}
