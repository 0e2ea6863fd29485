import { type ApiRequest, clientBy } from '../../../api-client/api-client.ts';
import { ApiRefusal } from '../../../api-client/refusal.ts';

/** An API by its answer to a path, or the status of its refusal. Keeps the requests, their signals and how many ran at once. */
export const answeringApi = (answerTo: (path: string) => object | number) => {
  const asked: string[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  let running = 0;
  let most = 0;
  const send = async ({ method, path, search, signal }: ApiRequest) => {
    asked.push(path + search);
    signals.push(signal);
    most = Math.max(most, (running += 1));
    await Promise.resolve();
    running -= 1;
    const answer = answerTo(path);
    if (typeof answer !== 'number')
      return { status: 200, text: JSON.stringify(answer), headers: new Headers() };
    const code = answer === 404 ? 'not_found' : 'forbidden';
    throw new ApiRefusal(`${method} ${path}`, answer, JSON.stringify({ error: { code, message: code } }));
  };
  return { api: clientBy('the API', send), asked, signals, mostAtOnce: () => most };
};
