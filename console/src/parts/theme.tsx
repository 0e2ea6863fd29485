import { useEffect, useState } from 'preact/hooks';

export type Theme = 'system' | 'light' | 'dark';

const KEY = 'posthaste-theme';
const CHANGED = 'posthaste-theme-changed';
const DARK = '(prefers-color-scheme: dark)';

/** The theme that the user chose in this browser. */
export function chosenTheme(): Theme {
  const chosen = localStorage.getItem(KEY);
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system';
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

export function chooseTheme(theme: Theme): void {
  localStorage.setItem(KEY, theme);
  applyTheme(theme);
  dispatchEvent(new Event(CHANGED));
}

function shownTheme(): 'light' | 'dark' {
  const chosen = chosenTheme();
  if (chosen !== 'system') return chosen;
  return matchMedia(DARK).matches ? 'dark' : 'light';
}

/** The theme in use, for drawing on a canvas. */
export function useTheme(): 'light' | 'dark' {
  const [theme, setTheme] = useState(shownTheme);
  useEffect(() => {
    const dark = matchMedia(DARK);
    const follow = (): void => {
      setTheme(shownTheme());
    };
    addEventListener(CHANGED, follow);
    dark.addEventListener('change', follow);
    return () => {
      removeEventListener(CHANGED, follow);
      dark.removeEventListener('change', follow);
    };
  }, []);
  return theme;
}

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'Theme: system'],
  ['light', 'Theme: light'],
  ['dark', 'Theme: dark'],
];

export function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <label class="theme-switch">
      <span class="unseen">Theme</span>
      <select
        value={theme}
        onChange={({ currentTarget }) => {
          const chosen = THEMES.find(([name]) => name === currentTarget.value)?.[0] ?? 'system';
          chooseTheme(chosen);
          setTheme(chosen);
        }}
      >
        {THEMES.map(([name, text]) => (
          <option key={name} value={name}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
