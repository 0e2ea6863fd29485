import { sqsHandler } from '../../shared/adapters/lambda/sqs-handler.ts';
import { composeDeliver } from './compose.ts';

// Once per cold start

const { deadline, journal, ...handling } = composeDeliver();

// Called by Lambda with up to ten jobs of the delivery queue or wake-ups of the retry queue

export const handler = deadline.timed(sqsHandler(journal, handling));
