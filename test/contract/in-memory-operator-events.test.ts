import { inMemoryOperatorEvents } from '../support/in-memory/in-memory-journal.ts';
import { describeOperatorEventsContract } from './operator-events.contract.ts';

describeOperatorEventsContract('in memory', () => {
  const operatorEvents = inMemoryOperatorEvents();
  return Promise.resolve({ operatorEvents, heard: () => Promise.resolve(operatorEvents.published) });
});
