import { invocationDeadline } from '../../shared/adapters/invocation-deadline.ts';
import { powertoolsJournal } from '../../shared/adapters/powertools-journal.ts';
import { dispatchEnvironment } from '../../shared/config/environment.ts';
import { sqsHandler } from '../sqs-handler.ts';
import { dispatchContextOf } from './dispatch-context.ts';
import { dispatchRecord, messageIdsIn } from './dispatch-record.ts';

// Once per cold start

const environment = dispatchEnvironment();
const journal = powertoolsJournal('dispatch', environment);
const deadline = invocationDeadline();
const dispatchContext = dispatchContextOf(environment, journal, deadline);

const { ingressRoutes } = environment;

// Called by Lambda, with up to ten messages of the ingress queue

export const handler = deadline.timed(
  sqsHandler(journal, dispatchRecord(dispatchContext, ingressRoutes), messageIdsIn(ingressRoutes)),
);
