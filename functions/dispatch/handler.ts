import { sqsHandler } from '../../shared/adapters/lambda/sqs-handler.ts';
import { composeDispatch } from './compose.ts';

// Once per cold start

const { deadline, journal, ...handling } = composeDispatch();

// Called by Lambda with up to ten messages of the ingress queue

export const handler = deadline.timed(sqsHandler(journal, handling));
