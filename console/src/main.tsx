import './zod-without-eval.ts';
import { render } from 'preact';
import { App } from './app.tsx';
import { applyTheme, chosenTheme } from './parts/theme.ts';
import { takeToken } from './session.ts';
import './style/index.css';

applyTheme(chosenTheme());
// Another link that the command printed, opened in this tab.
addEventListener('hashchange', () => {
  if (location.hash.startsWith('#token=')) location.reload();
});
const root = document.getElementById('root');
if (root !== null) render(<App token={takeToken()} />, root);
