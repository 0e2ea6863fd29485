import '../jitless.ts';
import { createApi } from './app.ts';
import { composeApi } from './compose.ts';
import { answerHttpApi } from './http-api-event.ts';

// Once per cold start

const { dependencies, deadline, journal, publicApiUrl } = composeApi();
const api = createApi(dependencies);

// Called by Lambda for each request to the HTTP API

export const handler = deadline.timed(async (event: unknown) => {
  try {
    return await answerHttpApi(api, event, publicApiUrl);
  } finally {
    await journal.flush();
  }
});
