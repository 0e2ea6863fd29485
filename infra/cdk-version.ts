import { createRequire } from 'node:module';
import { z } from 'zod';
import packageJson from '../package.json' with { type: 'json' };

/**
 * Refuses an `aws-cdk-lib` that is too old, before a construct fails by something that it lacks. Node.js links all
 * modules first, so what is newer than these versions is not imported by name (`newer-cdk.ts`).
 */
export function requireCdk(found: string, range: string): void {
  const [oldest = ''] = /\d+\.\d+\.\d+/.exec(range) ?? [];
  if (found.localeCompare(oldest, 'en', { numeric: true }) >= 0) return;
  throw new Error(
    `Posthaste needs aws-cdk-lib ${oldest} or later, and found ${found}. Run: npm install aws-cdk-lib@2`,
  );
}

const manifest = z.object({ peerDependencies: z.object({ 'aws-cdk-lib': z.string() }).optional() });
const cdkManifest = z.object({ version: z.string() });

// The package states the range. The repository has one version.
const { peerDependencies } = manifest.parse(packageJson);
if (peerDependencies !== undefined)
  requireCdk(
    cdkManifest.parse(createRequire(import.meta.url)('aws-cdk-lib/package.json')).version,
    peerDependencies['aws-cdk-lib'],
  );
