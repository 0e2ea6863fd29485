import { inMemoryQueueStatistics } from '../support/in-memory/in-memory-queue-statistics.ts';
import { describeQueueStatisticsContract } from './queue-statistics.contract.ts';

describeQueueStatisticsContract('in memory', inMemoryQueueStatistics);
