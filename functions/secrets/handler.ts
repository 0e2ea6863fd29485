import '../jitless.ts';
import { createSecretsApi } from '../api/secrets-api.ts';
import { answerHttpApi } from '../api/http-api-event.ts';
import { composeSecrets } from './compose.ts';

// Once per cold start

const { dependencies, deadline, journal } = composeSecrets();
const api = createSecretsApi(dependencies);

// Called by Lambda for each request to a route that opens secrets

export const handler = deadline.timed(async (event: unknown) => {
  try {
    return await answerHttpApi(api, event);
  } finally {
    await journal.flush();
  }
});
