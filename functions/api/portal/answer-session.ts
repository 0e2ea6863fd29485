import type { ApiDependencies } from '../dependencies.ts';
import type { Answer, ApiRequest } from '../route.ts';
import { checkAnswer } from './check-answer.ts';
import { checkRequest } from './check-request.ts';
import type { Admission } from './session.ts';

/** The answer to an admitted session. @throws RefusedRequest */
export async function answerSession(
  context: ApiDependencies,
  request: ApiRequest,
  {
    admission,
    answerAdmitted,
  }: { admission: Admission; answerAdmitted: (request: ApiRequest) => Promise<Answer> },
): Promise<Answer> {
  return checkAnswer(await answerAdmitted(await checkRequest(context, request, admission)), admission);
}
