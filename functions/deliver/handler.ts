import { invocationDeadline } from '../../shared/adapters/invocation-deadline.ts';
import { powertoolsJournal } from '../../shared/adapters/powertools-journal.ts';
import { deliverEnvironment } from '../../shared/config/environment.ts';
import { sqsHandler } from '../sqs-handler.ts';
import { deliverContextOf } from './deliver-context.ts';
import { deliverRecord, deliveryIdsIn } from './deliver-record.ts';

// Once per cold start

const environment = deliverEnvironment();
const journal = powertoolsJournal('deliver', environment);
const deadline = invocationDeadline();
const deliverContext = deliverContextOf(environment, journal, deadline);

// Called by Lambda, with up to ten jobs of the delivery queue or wake-ups of the retry queue

export const handler = deadline.timed(sqsHandler(journal, deliverRecord(deliverContext), deliveryIdsIn));
