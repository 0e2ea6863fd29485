import '../jitless.ts';
import { composePortal } from './compose.ts';
import { answerPortal } from './portal.ts';

// Once per cold start

const { context, deadline, journal } = await composePortal();

// Called by Lambda for each request of a tenant's browser

export const handler = deadline.timed(async (event: unknown) => {
  try {
    return await answerPortal(context, event);
  } finally {
    journal.flush();
  }
});
