const WIDTH = 30;

/** `[##########----------] 33%`: for a part from 0 to 1. */
export function progressBar(part: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, part)) * WIDTH);
  return `[${'#'.repeat(filled)}${'-'.repeat(WIDTH - filled)}] ${String(Math.floor(part * 100)).padStart(3)}%`;
}
