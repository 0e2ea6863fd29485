import type { JSX } from 'preact';
import * as z from 'zod';
import { retryPolicySchema } from '../../../../shared/domain/retry/policy-schema.ts';
import { completeRetryPolicy, DEFAULT_RETRY_POLICY } from '../../../../shared/domain/retry/policy.ts';
import { Facts } from '../../parts/facts.tsx';
import { PolicyFacts } from '../../parts/policy-facts.tsx';
import { SourceText } from '../../parts/source-text.tsx';
import { hrefTo } from '../../route.ts';

const withPolicy = z.looseObject({ _retry_policy: retryPolicySchema });

export function QueueMetadata({
  queue,
  metadata,
}: {
  queue: string;
  metadata: Record<string, unknown>;
}): JSX.Element {
  const parsed = withPolicy.safeParse(metadata);
  return (
    <div class="stack">
      {parsed.success ? (
        <PolicyFacts policy={completeRetryPolicy(parsed.data._retry_policy, DEFAULT_RETRY_POLICY).policy} />
      ) : (
        <Facts facts={[['Retry policy', 'none: the deployment’s defaults apply']]} />
      )}
      <p>
        <a href={hrefTo({ page: 'designer', query: { queue } })}>Edit the retry policy</a>
      </p>
      <SourceText text={JSON.stringify(metadata, null, 2)} what="the metadata" />
    </div>
  );
}
