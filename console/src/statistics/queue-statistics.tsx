import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { useConsole } from '../live/console-context.tsx';
import { useLive } from '../live/use-live.ts';
import { Loaded } from '../parts/loaded.tsx';
import { Section } from '../parts/section.tsx';
import { readStatistics, type WindowName } from './read-statistics.ts';
import { StatisticsCharts } from './statistics-charts.tsx';
import { NotCounted, WindowChoice } from './window-choice.tsx';

/** What happened in one queue over time. */
export function QueueStatistics({ queue }: { queue: string }): JSX.Element {
  const { api } = useConsole();
  const [window, setWindow] = useState<WindowName>('hour');
  const statistics = useLive(`statistics/${queue}/${window}`, (signal) =>
    readStatistics(api, queue, { window, now: Date.now(), signal }),
  );
  return (
    <Section title="Over time" aside={<WindowChoice window={window} onChange={setWindow} />}>
      <Loaded live={statistics} lines={12}>
        {(value) => (value === null ? <NotCounted /> : <StatisticsCharts summary={value} window={window} />)}
      </Loaded>
    </Section>
  );
}
