import type { ReferencedData } from '../../ports/bodies.ts';
import type { AwsAccess, Invocation } from '../aws/client-options.ts';
import { once } from '../lambda/on-demand.ts';

export function lazyReferencedData(aws: Invocation & AwsAccess): ReferencedData {
  const referencedData = once(async () => {
    const [{ s3Client }, { s3ReferencedData }] = await Promise.all([
      import('./payloads.ts'),
      import('./referenced-data.ts'),
    ]);
    return s3ReferencedData(s3Client(aws));
  });
  return { read: async (reference, owner) => (await referencedData()).read(reference, owner) };
}
