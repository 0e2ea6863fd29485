import { useEffect, useState } from 'preact/hooks';
import { BarSelect } from './fields.tsx';
import { openStorage } from '../live/storage.ts';

const THEMES = ['system', 'light', 'dark'] as const;

export type Theme = (typeof THEMES)[number];

const KEY = 'posthaste-theme';
const storage = openStorage(() => localStorage);
const CHANGED = 'posthaste-theme-changed';
const DARK = '(prefers-color-scheme: dark)';

/** The theme that the user chose in this browser. */
export function chosenTheme(): Theme {
  return themeIn(storage.getItem(KEY));
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
}

function chooseTheme(theme: Theme): void {
  storage.setItem(KEY, theme);
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
    const follow = (): void => setTheme(shownTheme());
    addEventListener(CHANGED, follow);
    dark.addEventListener('change', follow);
    return () => {
      removeEventListener(CHANGED, follow);
      dark.removeEventListener('change', follow);
    };
  }, []);
  return theme;
}

function themeIn(text: string | null): Theme {
  return THEMES.find((theme) => theme === text) ?? 'system';
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <BarSelect
      label="Theme"
      value={theme}
      onValue={(text) => {
        const chosen = themeIn(text);
        chooseTheme(chosen);
        setTheme(chosen);
      }}
      options={THEMES.map((name) => [name, `Theme: ${name}`])}
    />
  );
}
