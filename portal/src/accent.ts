/** The colours of the page that follow from an accent colour, by their names in console/src/style/tokens.css. */
type AccentColours = Record<
  '--accent' | '--accent-fill' | '--accent-hover' | '--accent-text' | '--accent-faint',
  string
>;

type Rgb = readonly [red: number, green: number, blue: number];

const BLACK: Rgb = [0, 0, 0];
const WHITE: Rgb = [255, 255, 255];

/** The surfaces with the least contrast to text, `--raised` in tokens.css. */
const RAISED = { light: [241, 241, 238], dark: [35, 39, 43] } as const;

/** WCAG 2.2, 1.4.3 Contrast (Minimum), with some room for rounding. */
const MIN_CONTRAST = 4.6;

/** Text on the accent is black or white. As text, the accent is darkened or lightened until it can be read. */
export function accentColours(accent: string): AccentColours {
  const fill = parseColour(accent);
  const text = contrast(fill, WHITE) >= contrast(fill, BLACK) ? WHITE : BLACK;
  const away = text === WHITE ? BLACK : WHITE;
  const light = readable(fill, RAISED.light, BLACK);
  const dark = readable(fill, RAISED.dark, WHITE);
  return {
    '--accent': `light-dark(${format(light)}, ${format(dark)})`,
    '--accent-fill': format(fill),
    // Away from the text, so that its contrast only grows.
    '--accent-hover': format(mix(fill, away, 0.15)),
    '--accent-text': format(text),
    '--accent-faint': `light-dark(${format(light, '10%')}, ${format(dark, '14%')})`,
  };
}

/** By the object model of the style sheets, because the Content-Security-Policy forbids styles in markup. */
export function applyAccent(accent: string, style: Pick<CSSStyleDeclaration, 'setProperty'>): void {
  for (const [name, value] of Object.entries(accentColours(accent))) style.setProperty(name, value);
}

function readable(colour: Rgb, surface: Rgb, end: Rgb): Rgb {
  let share = 0;
  while (share < 1 && contrast(mix(colour, end, share), surface) < MIN_CONTRAST) share += 0.05;
  return mix(colour, end, Math.min(1, share));
}

/** WCAG 2.2, "contrast ratio": 1 to 21. */
export function contrast(one: Rgb, other: Rgb): number {
  const [least = 0, most = 0] = [luminance(one), luminance(other)].toSorted((a, b) => a - b);
  return (most + 0.05) / (least + 0.05);
}

/** WCAG 2.2, "relative luminance". */
function luminance(colour: Rgb): number {
  const [red = 0, green = 0, blue = 0] = colour.map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function mix([red, green, blue]: Rgb, to: Rgb, share: number): Rgb {
  const between = (from: number, end: number): number => Math.round(from + (end - from) * share);
  return [between(red, to[0]), between(green, to[1]), between(blue, to[2])];
}

/** @param colour #rrggbb */
export function parseColour(colour: string): Rgb {
  const part = (at: number): number => Number.parseInt(colour.slice(at, at + 2), 16);
  return [part(1), part(3), part(5)];
}

function format(colour: Rgb, alpha = '100%'): string {
  return `rgb(${colour.join(' ')} / ${alpha})`;
}
