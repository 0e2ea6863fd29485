import type { Exception } from './comparison.ts';

const BY_LAMBDA = 'Lambda does it in the name of the function, and the local AWS does it without asking IAM';

/** What the run cannot show. Each is as narrow as its reason. */
export const exceptions: readonly Exception[] = [
  { action: 'sqs:ReceiveMessage', reason: BY_LAMBDA },
  { action: 'sqs:DeleteMessage', reason: BY_LAMBDA },
  { role: 'Dispatch', action: 'sqs:GetQueueAttributes', reason: BY_LAMBDA },
  { role: 'Deliver', action: 'sqs:GetQueueAttributes', reason: BY_LAMBDA },
  { role: 'Operate', action: 'sqs:GetQueueAttributes', reason: BY_LAMBDA },
  {
    action: 'sqs:ChangeMessageVisibility',
    reason: 'only after a fault of ours, which no test can bring about from outside on every queue',
  },
  { action: 'logs:CreateLogStream', reason: BY_LAMBDA },
  { action: 'logs:PutLogEvents', reason: BY_LAMBDA },
  {
    action: 'iam:PassRole',
    reason: 'Scheduler checks it as a schedule is created; the local AWS does not',
  },
  {
    role: 'Operate',
    action: 's3:DeleteObject',
    reason:
      'for a message that is erased between two calls of a recovery, which no test can time from outside',
  },
  {
    action: 's3:ListBucket',
    reason: 'nothing is listed: with it S3 answers 404 for an object that is not there, without it 403',
  },
];
