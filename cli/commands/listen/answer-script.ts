import { InvalidArgumentError } from 'commander';

/** One answer to a request. `hang`: no answer; `reset`: the connection is reset. */
export type ScriptedAnswer = {
  status: number | 'hang' | 'reset';
  delaySeconds?: number;
  retryAfterSeconds?: number;
};

/** Never empty; the last answer repeats. */
export type AnswerScript = readonly [ScriptedAnswer, ...ScriptedAnswer[]];

export const SCRIPT_FORM =
  'STATUS[xCOUNT][:delay=SECONDS][:retry-after=SECONDS]; STATUS may be hang or reset';

const MAX_ANSWERS = 10_000;
const ITEM =
  /^(?<what>[2-5]\d\d|hang|reset)(?:x(?<count>[1-9]\d{0,3}))?(?<settings>(?::[a-z-]+=\d{1,5}(?:\.\d{1,3})?)*)$/;

/** Parses a script such as `500x3,200` or `503:retry-after=30:delay=0.5,200`. */
export function answerScriptOf(text: string): AnswerScript {
  const answers = text.split(',').flatMap((item) => answersOf(item.trim()));
  const [first, ...others] = answers;
  if (first === undefined || answers.length > MAX_ANSWERS)
    throw new InvalidArgumentError(`Expected answers separated by commas, each ${SCRIPT_FORM}.`);
  return [first, ...others];
}

function answersOf(item: string): ScriptedAnswer[] {
  const { what, count = '1', settings = '' } = ITEM.exec(item)?.groups ?? {};
  if (what === undefined) throw new InvalidArgumentError(`Expected ${SCRIPT_FORM}; not "${item}".`);
  const status = what === 'hang' || what === 'reset' ? what : Number(what);
  const answer = settings
    .split(':')
    .slice(1)
    .reduce<ScriptedAnswer>((before, setting) => ({ ...before, ...settingOf(setting) }), { status });
  return Array.from({ length: Number(count) }, () => answer);
}

function settingOf(text: string): Partial<ScriptedAnswer> {
  const [name, value] = text.split('=');
  if (name === 'delay') return { delaySeconds: Number(value) };
  if (name === 'retry-after') return { retryAfterSeconds: Math.ceil(Number(value)) };
  throw new InvalidArgumentError(`Expected delay or retry-after, not ${name ?? ''}.`);
}

/** The answer to the nth request for a message, from 0. */
export function answerAt(script: AnswerScript, index: number): ScriptedAnswer {
  return script[index] ?? script.at(-1) ?? script[0];
}
