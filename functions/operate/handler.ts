import { sqsHandler } from '../../shared/adapters/lambda/sqs-handler.ts';
import { composeOperate } from './compose.ts';

// Once per cold start

const { deadline, journal, ...handling } = composeOperate();

// Called by Lambda with one operation of the operation queue

export const handler = deadline.timed(sqsHandler(journal, handling));
