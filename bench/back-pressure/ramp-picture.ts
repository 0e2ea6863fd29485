import { STEP_MS, type Steps } from './measure.ts';

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, FLOOR] = [880, 240, 40, 10, 16, 206];
const STEP = STEP_MS / 1_000;
const MINUTE = 60;

/** Bottom of the scale in requests a second. It is logarithmic: a rate that doubles makes equal steps. */
const LEAST = 0.1;

/** Requests a second over time as an SVG, readable on light and dark pages. */
export function rampPicture(steps: Steps): string {
  const most = Math.max(...steps.map(({ failed, answered }) => (failed + answered) / STEP));
  const x = (seconds: number): number => LEFT + (seconds / (STEP * steps.length)) * (WIDTH - LEFT - RIGHT);
  const y = (perSecond: number): number =>
    FLOOR - (Math.log(Math.max(LEAST, perSecond) / LEAST) / Math.log(most / LEAST)) * (FLOOR - TOP);
  const bar = (from: number, to: number, index: number, colour: string): string =>
    from === to
      ? ''
      : `<rect x="${round(x(index * STEP))}" y="${round(y(to / STEP))}" width="${round(x(STEP) - LEFT - 1)}" height="${round(y(from / STEP) - y(to / STEP))}" fill="${colour}"/>`;
  const bars = steps.flatMap(({ failed, answered }, index) => [
    bar(0, failed, index, '#d9534f'),
    bar(failed, failed + answered, index, '#3b82c4'),
  ]);
  const minutes = Array.from({ length: Math.floor((STEP * steps.length) / MINUTE) + 1 }, (_, index) => index);
  const levels = [LEAST, 1, 10, 100].filter((level) => level <= most);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="11" fill="#808080">`,
    '<title>Requests a second during an outage of ten minutes and after it</title>',
    ...levels.map(
      (level) => `<text x="${LEFT - 8}" y="${round(y(level) + 4)}" text-anchor="end">${level}</text>`,
    ),
    `<path d="M${LEFT} ${TOP}V${FLOOR}H${WIDTH}" fill="none" stroke="#808080"/>`,
    ...bars.filter((text) => text !== ''),
    ...minutes.map(
      (minute) =>
        `<text x="${round(x(minute * MINUTE))}" y="${FLOOR + 14}" text-anchor="middle">${minute}</text>`,
    ),
    `<text x="${LEFT}" y="${HEIGHT - 4}">minutes since the first message; red: no answer, blue: delivered; requests a second in steps of ${STEP} s</text>`,
    '</svg>',
    '',
  ].join('\n');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
