import { SPARK_HEIGHTS, type SparkStatus } from './status.tsx';

const WIDTH = 6;
const HEIGHT = 20;

/** The outcomes of the last messages, newest on the right. */
export function Sparkline({ sparks, places }: { sparks: readonly SparkStatus[]; places: number }) {
  return (
    <svg
      class="sparkline"
      role="img"
      aria-label={summaryOf(sparks)}
      width={places * (WIDTH + 1)}
      height={HEIGHT}
      viewBox={`0 0 ${places * (WIDTH + 1)} ${HEIGHT}`}
    >
      {sparks.map((spark, index) => {
        const height = SPARK_HEIGHTS[spark];
        return (
          <rect
            key={index}
            class={`bar tone-${spark}`}
            x={(places - sparks.length + index) * (WIDTH + 1)}
            y={HEIGHT - height}
            width={WIDTH}
            height={height}
            rx="1"
            {...((spark === 'rejected' || spark === 'exhausted') && { 'stroke-dasharray': '2 1.5' })}
          />
        );
      })}
    </svg>
  );
}

function summaryOf(sparks: readonly SparkStatus[]): string {
  const counts = Object.entries(Object.groupBy(sparks, (spark) => spark)).filter(
    ([spark]) => spark !== 'none',
  );
  if (counts.length === 0) return 'No recent deliveries';
  return `Recent deliveries: ${counts.map(([spark, all]) => `${all.length} ${spark}`).join(', ')}`;
}
