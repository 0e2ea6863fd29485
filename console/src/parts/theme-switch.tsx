import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { chooseTheme, chosenTheme, type Theme } from './theme.ts';

const THEMES: readonly (readonly [Theme, string])[] = [
  ['system', 'Theme: system'],
  ['light', 'Theme: light'],
  ['dark', 'Theme: dark'],
];

export function ThemeSwitch(): JSX.Element {
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
