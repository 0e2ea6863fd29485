import type { JSX } from 'preact';
import { completeRetryPolicy, DEFAULT_RETRY_POLICY } from '../../../../shared/domain/retry/policy.ts';
import { Facts, PolicyFacts } from '../../parts/facts.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { hrefTo } from '../../route.ts';
import { queuePolicy } from './queue-draft.ts';

export function QueueMetadata({
  queue,
  metadata,
}: {
  queue: string;
  metadata: Record<string, unknown>;
}): JSX.Element {
  const policy = queuePolicy(metadata);
  return (
    <div class="stack">
      {policy === undefined ? (
        <Facts facts={[['Retry policy', 'none: the deployment’s defaults apply']]} />
      ) : (
        <PolicyFacts policy={completeRetryPolicy(policy, DEFAULT_RETRY_POLICY).policy} />
      )}
      <p>
        <a href={hrefTo({ page: 'designer', query: { queue } })}>Edit the retry policy</a>
      </p>
      <SourceText text={JSON.stringify(metadata, null, 2)} what="the metadata" />
    </div>
  );
}
