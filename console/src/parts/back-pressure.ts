import { type BackPressure, pressureState } from '../../../api-client/words.ts';

/** What it means that a subscription gets fewer requests than it could. */
export function pressureWords(pressure: BackPressure): { title: string; detail: string } {
  const { perSecond } = pressure;
  const detail = `${paceText(perSecond)} Other deliveries wait, which uses none of their attempts.`;
  switch (pressureState(pressure)) {
    case 'throttled':
      return {
        title: 'The subscriber asked for fewer requests',
        detail: `It answered 429, or 503 with Retry-After. ${detail}`,
      };
    case 'circuit open':
      return { title: 'The circuit is open: the subscriber is down', detail };
    case 'slowed':
      return { title: 'The subscriber was down and answers again', detail };
  }
}

function paceText(perSecond: number | undefined): string {
  return perSecond === undefined
    ? 'It gets one request at a time until it answers.'
    : `It gets at most ${perSecond} requests a second now, and more while it takes them.`;
}
